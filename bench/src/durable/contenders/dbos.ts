import { setTimeout as sleep } from 'node:timers/promises'
import { type Installation, requireFrom } from '../../install.ts'
import type { Contender, Input } from '../contender.ts'
import { POOL_SIZE } from './oncue.ts'

const VERSION = '5.3.0'

export const DBOS_INSTALLATION: Installation = {
  name: 'dbos',
  packages: { '@dbos-inc/dbos-sdk': VERSION },
  without: '--only oncue',
}

/** What the benchmark calls of it. */
interface Sdk {
  readonly DBOS: {
    setConfig(config: object): void
    launch(): Promise<void>
    shutdown(): Promise<void>
    registerWorkflow<Args extends unknown[]>(
      work: (...args: Args) => Promise<void>,
      config: { name: string },
    ): (...args: Args) => Promise<void>
    startWorkflow<Args extends unknown[]>(
      work: (...args: Args) => Promise<void>,
      params: { workflowID: string },
    ): (...args: Args) => Promise<{ readonly workflowID: string; getResult(): Promise<unknown> }>
    runStep<T>(work: () => Promise<T>, config: { name: string }): Promise<T>
    recv(topic: string, options: { timeoutSeconds: number }): Promise<unknown>
    send(id: string, message: unknown, topic: string): Promise<void>
    cancelWorkflow(id: string): Promise<void>
    resumeWorkflow(id: string): Promise<unknown>
    readonly workflowID: string | undefined
  }
}

/** A receive has no state that could be read: it has long begun by then. */
const SETTLED_MS = 30

export const dbos: Contender = {
  name: 'dbos',
  database: 'postgres',
  version: VERSION,
  settings: `started in the process that calls, without a queue; ${POOL_SIZE} connections, all else default`,
  async start(url, body) {
    const { DBOS } = requireFrom<Sdk>(DBOS_INSTALLATION, '@dbos-inc/dbos-sdk')
    DBOS.setConfig({
      name: 'bench',
      systemDatabaseUrl: url,
      systemDatabasePoolSize: POOL_SIZE,
      logLevel: 'error',
    })
    const waiting = new Set<string>()
    /** Of workflows whose first run has come to its pause. */
    const paused = new Map<string, () => void>()
    const idOf = () => DBOS.workflowID ?? ''

    const flow = DBOS.registerWorkflow(
      (input: Input) =>
        body(
          {
            step: (name, work) => DBOS.runStep(work, { name }),
            receive() {
              waiting.add(idOf())
              return DBOS.recv('go', { timeoutSeconds: 600 })
            },
            async pause() {
              const id = idOf()
              if (paused.has(id)) return
              await new Promise<void>((resolve) => {
                paused.set(id, resolve)
                waiting.add(id)
              })
            },
          },
          input,
        ),
      { name: 'flow' },
    )
    await DBOS.launch()
    return {
      async begin(input) {
        const handle = await DBOS.startWorkflow(flow, { workflowID: input.tag })(input)
        // A run that is cancelled to be repeated.
        handle.getResult().catch(() => {})
        return handle.workflowID
      },
      async isWaiting(id) {
        if (!waiting.has(id)) return false
        await sleep(SETTLED_MS)
        return true
      },
      signal: (id) => DBOS.send(id, 1, 'go'),
      async repeat(id) {
        await DBOS.cancelWorkflow(id)
        paused.get(id)?.()
        await sleep(SETTLED_MS)
        await DBOS.resumeWorkflow(id)
      },
      stop: () => DBOS.shutdown(),
    }
  },
}
