import { OncueError, type RetryPolicy, retryDelayMs } from '@oncue/core'
import { describeError } from '@oncue/core/internal'
import type { Settlement, Store } from '@oncue/db'
import type { KeptRun } from './keeper.ts'
import type { LeaseLedger } from './ledger.ts'

/** How often the main thread signals that its event loop turns. */
export const PULSE_MS = 500
/** Without a pulse for this long the event loop is blocked. */
const BLOCKED_MS = 2_000
/** A handler that only ignores its signal is abandoned by the executor, which gets this long to do it. */
const MARGIN_MS = 1_000

/**
 * Finds handlers that block the event loop past their timeout. Nothing on the main thread can end them: its
 * timers do not fire any more.
 */
export class Watchdog {
  readonly #ledger: LeaseLedger
  readonly #abandonMs: number
  #pulse = -1
  #pulseAt = 0
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(ledger: LeaseLedger, abandonMs: number) {
    this.#ledger = ledger
    this.#abandonMs = abandonMs
  }

  /** The runs that are past their timeout while the event loop stands still. */
  overdue(runs: Iterable<KeptRun>, now: number): KeptRun[] {
    const { pulse } = this.#ledger
    // After a pause of the whole process both threads are late: that is no blocked event loop.
    const wasPaused = now - this.#lookedAt > BLOCKED_MS
    this.#lookedAt = now
    if (pulse !== this.#pulse || wasPaused) {
      this.#pulse = pulse
      this.#pulseAt = now
    }
    if (now - this.#pulseAt < BLOCKED_MS) return []
    const patienceMs = this.#abandonMs + MARGIN_MS
    return [...runs].filter(
      ({ runningSince, timeoutMs }) => runningSince !== null && now - runningSince > timeoutMs + patienceMs,
    )
  }
}

export interface RetryPolicies {
  readonly byTopic: Readonly<Record<string, RetryPolicy>>
  /** The policy of the worker (`retry`, ONCUE_RETRY_*). */
  readonly fallback: RetryPolicy | null
}

/** Settles the overdue runs as timed out and releases all others: their handlers are blocked, too. */
export async function settleBlocked(
  store: Store,
  worker: string,
  overdue: readonly KeptRun[],
  others: readonly KeptRun[],
  policies: RetryPolicies,
): Promise<void> {
  const given = others.map(({ id, run, runningSince }): Settlement => {
    return { id, run, kind: 'release', interrupted: runningSince !== null }
  })
  const charged = await Promise.all(overdue.map((run) => timedOut(store, run, policies)))
  await store.settle([...charged, ...given], worker)
}

async function timedOut(
  store: Store,
  { id, run, timeoutMs }: KeptRun,
  policies: RetryPolicies,
): Promise<Settlement> {
  const job = await store.get(id)
  const topic = job?.topic ?? ''
  const error = new OncueError(
    'JOB_TIMEOUT',
    `The handler blocked the event loop past its timeout of ${timeoutMs} ms; its worker was killed`,
    { hint: 'Make the handler yield to the event loop (await), or define the job with isolate: true.' },
  )
  const policy = job?.retry ?? policies.byTopic[topic] ?? policies.fallback
  const delayMs = retryDelayMs(policy, (job?.retries ?? 0) + 1)
  return { id, run, kind: 'retry', delayMs, error: describeError(error, topic) }
}
