import { type JobDefinition, OncueError, type Received } from '@oncue/core'
import { parseSignal, signalSchema } from '@oncue/core/internal'
import type { Asking } from '@oncue/db'
import type { AskRequest, GivenAnswer, RefusedAnswer } from '../ask.ts'
import { assertCallName, assertNotNested, toMilliseconds } from '../steps.ts'
import type { Calls } from './calls.ts'
import { QUIET_MS } from './suspension.ts'

/** `ctx.sleep`, `ctx.receive` and `ctx.ask`. */
export class WaitCalls {
  readonly #calls: Calls
  readonly #definition: Pick<JobDefinition, 'signals'>
  readonly #receives = new Map<string, { count: number; open: Promise<Received<unknown>> | undefined }>()

  constructor(calls: Calls, definition: Pick<JobDefinition, 'signals'>) {
    this.#calls = calls
    this.#definition = definition
  }

  async sleep(name: string, until: unknown): Promise<void> {
    assertNotNested('sleep')
    assertCallName(name, 'sleep')
    const moment = until instanceof Date ? until : undefined
    if (moment && Number.isNaN(moment.getTime())) {
      throw new OncueError('INVALID_DATE', `ctx.sleep(${JSON.stringify(name)}) got an invalid Date`)
    }
    const delayMs = moment ? undefined : toMilliseconds(until, 'the duration of ctx.sleep')
    const calls = this.#calls
    const key = calls.claim(`sleep:${name}`, 'sleep', name)
    await calls.calling(async () => {
      await calls.loadFor(key)
      const { recorded } = calls.replay
      const isShort = delayMs !== undefined && delayMs <= QUIET_MS && !recorded.has(`wait:${key}`)
      if (recorded.has(key)) await calls.replay.ask(key)
      else if (calls.stopsAt(key)) await calls.hang(key)
      else if (isShort) {
        calls.goLive()
        await calls.suspension.working(async () => {
          await calls.sleepHere(delayMs)
          await calls.replay.record({ key, kind: 'timer' })
        })
      } else await calls.wait({ kind: 'timer', name, key, until: moment, delayMs })
    })
  }

  receive(name: string, options: { readonly timeout?: unknown } = {}): Promise<Received<unknown>> {
    const state = this.#receives.get(name) ?? { count: 0, open: undefined }
    this.#receives.set(name, state)
    // The loser of a race takes no signal from the next one that waits.
    state.open ??= this.#receive(name, options, state).finally(() => {
      state.open = undefined
    })
    return state.open
  }

  async #receive(
    name: string,
    { timeout }: { readonly timeout?: unknown },
    state: { count: number },
  ): Promise<Received<unknown>> {
    assertNotNested('receive')
    const { topic } = this.#calls.run.job
    const schema = signalSchema(this.#definition, name, topic)
    const delayMs = timeout === undefined ? undefined : toMilliseconds(timeout, 'options.timeout')
    state.count += 1
    const key = `receive:${name}#${state.count}`
    return this.#calls.calling(async () => {
      await this.#calls.load()
      const { kind, data } = await this.#calls.wait({ kind: 'signal', name, key, delayMs })
      if (kind === 'timeout') return { timedOut: true }
      return { timedOut: false, value: parseSignal(schema, data, topic) }
    })
  }

  /** Waits for an answer; `refused` is one that it returned before, and that the handler does not accept. */
  async ask(name: string, request: AskRequest, refused?: RefusedAnswer): Promise<GivenAnswer> {
    const { timeout, ...rest } = request
    const delayMs = timeout === undefined ? undefined : toMilliseconds(timeout, 'options.timeout')
    const key = refused ? `ask:${name}` : this.#calls.claim(`ask:${name}`, 'question', name)
    if (refused) this.#calls.replay.recorded.forget(key)
    const asking: Asking = { ...rest, name, delayMs, refuses: refused?.seq, reason: refused?.reason }
    return this.#calls.calling(async () => {
      await this.#calls.loadFor(key)
      const opening = { key, kind: 'ask', data: JSON.stringify(asking) } as const
      const { kind, seq, data } = await this.#calls.wait({ kind: 'ask', name, key, delayMs }, [opening])
      if (kind === 'timeout') return { timedOut: true }
      return { timedOut: false, ...(data as { value: unknown; by: string }), seq }
    })
  }
}
