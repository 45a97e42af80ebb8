import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { OPERATION_LEAD, type OperationRow, type Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { isOurFault, toOncueError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { batchRate } from './batch-rate.ts'

/** How often a process looks for operations that nobody leads. */
const POLL_MS = 2_000
/** Who has not been heard of for so long does not lead any more; who waits says so in between. */
const TERM_MS = 5_000
const RENEW_MS = 1_000
/** Workers come first: after each batch at least this long a rest, and as long as the batch took. */
const REST_MS = 20

type Running = Pick<Store, 'operations' | 'lead' | 'stepDown'>

/**
 * Does what people began, batch by batch. Every API process has one; of each operation one of them is the leader.
 * If it dies, another goes on after the term. That nothing is done twice does not depend on it: a batch is done
 * only by who has seen the one before.
 */
export class BulkRunner {
  readonly #store: Running
  readonly #operations: Control['operations']
  readonly #log: Pick<Logger, 'warn' | 'error'>
  readonly #me = randomUUID()
  readonly #closing = new AbortController()
  readonly #led = new Map<string, Promise<void>>()
  #isStarted = false
  #looking: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  /** One batch at a time, however many operations there are. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    store: Running,
    { operations }: Pick<Control, 'operations'>,
    log: Pick<Logger, 'warn' | 'error'>,
  ) {
    this.#store = store
    this.#operations = operations
    this.#log = log
  }

  start(): void {
    this.#isStarted = true
    this.#looking = this.#look().finally(() => {
      if (!this.#isClosed) this.#timer = setTimeout(() => this.start(), POLL_MS)
    })
  }

  /** At once, and not when it is found. One that was not started leaves it to the others. */
  begin(id: string): void {
    if (!this.#isStarted || this.#isClosed || this.#led.has(id)) return
    const led = this.#lead(id)
      .catch((error: unknown) => this.#giveUp(id, error))
      .finally(() => this.#led.delete(id))
    this.#led.set(id, led)
  }

  /** Waits for a batch that is under way; another process goes on with the rest. */
  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    await this.#looking
    await Promise.all(this.#led.values())
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  async #look(): Promise<void> {
    try {
      for (const id of await this.#operations.running()) this.begin(id)
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot look for operations; the next try is soon')
    }
  }

  async #lead(id: string): Promise<void> {
    const name = `${OPERATION_LEAD}${id}`
    const renew = () => this.#store.lead(name, this.#me, TERM_MS)
    if (!(await renew())) return
    try {
      for (let due = 0; !this.#isClosed; ) {
        await this.#sleep(Math.min(due - performance.now(), RENEW_MS))
        const next = await this.#inTurn(async () => ((await renew()) ? this.#step(id, due) : null))
        if (next === null) return
        due = next
      }
    } finally {
      await this.#store.stepDown(name, this.#me).catch(() => {})
    }
  }

  /** Answers when the next batch is due; null: there is none. */
  async #step(id: string, due: number): Promise<number | null> {
    const seen = await this.#operations.get(id)
    if (seen?.status !== 'running' || this.#isClosed) return null
    const began = performance.now()
    if (began < due) return due
    const { limit, msPerJob } = batchRate(seen)
    const after = await this.#store.operations.advance(seen, limit)
    const took = performance.now() - began
    await this.#sleep(Math.max(REST_MS, took))
    return began + msPerJob * (after ? handled(after) - handled(seen) : 0)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** What passes is tried again when it is next found. */
  async #giveUp(id: string, cause: unknown): Promise<void> {
    const error = toOncueError(cause)
    if (error.retryable) {
      this.#log.warn({ err: cause, operation: id }, 'an operation is interrupted, and goes on soon')
      return
    }
    this.#log.error({ err: cause, operation: id }, 'an operation failed')
    const { code } = error
    const message = isOurFault(error)
      ? `Something went wrong on the server; its log has the details under operation ${id}`
      : error.message
    try {
      const seen = await this.#operations.get(id)
      if (seen) await this.#store.operations.fail(seen, { code, message })
    } catch (failure) {
      this.#log.error({ err: failure, operation: id }, 'that an operation failed could not be written down')
    }
  }

  /** Shorter when it is closed. */
  async #sleep(ms: number): Promise<void> {
    if (ms > 0) await wait(ms, undefined, { signal: this.#closing.signal }).catch(() => {})
  }
}

function handled({ done, skipped }: OperationRow): number {
  return Object.values(skipped).reduce((sum, count) => sum + count, done)
}
