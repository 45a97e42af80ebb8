import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { JobId } from '@oncue/core'
import { openStore, type Rescued, type WorkerInfo } from '@oncue/db'
import { abortable, type Logger, systemRuntime, withTimeout } from '@oncue/runtime'
import { type Claim, type KeptRun, LeaseKeeper } from './keeper.ts'
import { LeaseLedger, type LedgerPosition } from './ledger.ts'
import { type RetryPolicies, settleBlocked, Watchdog } from './watchdog.ts'

export interface LeaseThreadData {
  readonly url: string
  readonly schema: string
  readonly ledger: SharedArrayBuffer
  readonly worker: WorkerInfo
  readonly leaseMs: number
  readonly abandonMs: number
  readonly policies: RetryPolicies
}

export type ToLeaseThread = { readonly keep: Claim } | { readonly rest: boolean } | { readonly stop: true }

export type FromLeaseThread =
  | { readonly ready: { readonly visible: boolean } }
  | { readonly failed: unknown }
  | { readonly lost: LedgerPosition[] }
  | { readonly cancelled: LedgerPosition[] }
  | { readonly rescued: Rescued[] }
  | { readonly resumed: true }
  | {
      readonly log: {
        readonly level: keyof Logger & Level
        readonly fields: object
        readonly message: string
      }
    }

type Level = 'debug' | 'info' | 'warn' | 'error'

/** How long to try to settle the runs of a blocked process before it is killed anyway. */
const LAST_SETTLE_MS = 5_000

const { url, schema, ledger: memory, worker, leaseMs, abandonMs, policies } = workerData as LeaseThreadData
const post = (message: FromLeaseThread) => parentPort?.postMessage(message)

const line = (level: Level) => (fields: object, message: string) => post({ log: { level, fields, message } })
const log: Logger = {
  debug: line('debug'),
  info: line('info'),
  warn: line('warn'),
  error: line('error'),
  child: () => log,
}

/** Resolves once the worker is present. */
async function start(signal: AbortSignal) {
  const store = await openStore(url, { schema, poolSize: 2, signal })
  const ledger = new LeaseLedger(memory)
  const dog = new Watchdog(ledger, abandonMs)
  let isCondemned = false

  const keeper = new LeaseKeeper({
    store,
    worker,
    leaseMs,
    ledger,
    log,
    runtime: systemRuntime,
    onLost: (lost) => post({ lost }),
    onCancelled: (cancelled) => post({ cancelled }),
    onRescued: (rescued) => post({ rescued }),
    watchdog: (runs) => {
      const overdue = dog.overdue(runs, systemRuntime.monotonic())
      if (overdue.length === 0 || isCondemned) return
      isCondemned = true
      void condemn(overdue)
    },
  })

  /** The event loop of the process is blocked and will not turn again: only killing the process helps. */
  async function condemn(overdue: readonly KeptRun[]): Promise<void> {
    await withTimeout(settleAll(overdue), LAST_SETTLE_MS, () => {}).catch(() => {})
    const jobs: JobId[] = overdue.map(({ id }) => id)
    const message = 'a handler has blocked the event loop past its timeout; killing this process'
    const line = { level: 'fatal', pid: process.pid, worker: worker.id, jobs, message }
    writeSync(2, `${JSON.stringify(line)}\n`)
    process.kill(process.pid, 'SIGKILL')
  }

  async function settleAll(overdue: readonly KeptRun[]): Promise<void> {
    await keeper.pause()
    const late = new Set(overdue.map(({ id }) => id))
    const others = keeper.all().filter(({ id }) => !late.has(id))
    await settleBlocked(store, worker.id, overdue, others, policies)
  }

  try {
    return { ...(await keeper.start()), keeper, store }
  } catch (error) {
    await store.close()
    throw error
  }
}

const stopping = new AbortController()
const starting = abortable(stopping.signal, start)
parentPort?.on('message', async (message: ToLeaseThread) => {
  if ('keep' in message) (await starting).keeper.keep(message.keep)
  else if ('rest' in message) await rest(await starting, message.rest)
  else stopping.abort()
})

async function rest({ keeper }: Awaited<typeof starting>, isOn: boolean): Promise<void> {
  if (isOn) return keeper.rest()
  await keeper.resume()
  post({ resumed: true })
}

async function main(): Promise<void> {
  try {
    const { visible, keeper, store } = await starting
    post({ ready: { visible } })
    if (!stopping.signal.aborted) await once(stopping.signal, 'abort')
    await keeper.stop()
    await store.close()
  } catch (failed) {
    post({ failed })
  }
  // The thread ends, as nothing keeps it. Deno's port has no `close`.
  parentPort?.unref()
}

// Without `await`: in a bundle this file is a script.
void main()
