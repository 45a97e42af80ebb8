import type { Claimed, RestStore, Store, Subscription } from '@oncue/db'
import type { Logger, Runtime } from '@oncue/runtime'

/** How long a worker polls as usual after it has heard of a job or run one: the next one is often near. */
const AFTER_WORK_MS = 30_000
/** The same after a rest in which nothing was heard: time to rescue, tick and prune. */
const AFTER_REST_MS = 10_000
/** Shorter rests would not let a database sleep. No run of another worker goes unseen: its lease ends sooner. */
const LEAST_MS = 60_000

/** A worker is awake, or prepares a rest, or needs one more empty claim, or rests, or ends its rest. */
type State = 'awake' | 'preparing' | 'prepared' | 'resting' | 'ending'

export interface RestOptions {
  readonly store: Pick<Store, 'schedules'>
  readonly rest: RestStore
  readonly worker: string
  /** The longest rest. */
  readonly maxMs: number
  readonly leaseMs: number
  /** Whether this worker ticks schedules when it leads. */
  readonly ticks: boolean
  readonly log: Logger
  readonly runtime: Runtime
  /** Holds back everything that the worker sends by itself. */
  pause(): void
  /** Ends that. Rejects if the database cannot be reached; the claim that follows reports it. */
  resume(): Promise<void>
  /** The worker may claim. */
  onAwake(): void
}

/**
 * Lets a worker send nothing for minutes: while no job runs anywhere, none is due soon, and wake-ups arrive. It is prepared
 * first, and begins only if the claim after that finds nothing: what was enqueued before is found by the claim, and what comes
 * after is heard.
 */
export class Rest {
  readonly #options: RestOptions
  readonly #leastMs: number
  #state: State = 'awake'
  #awakeUntil: number
  /** When the next schedule ticks, on the monotonic clock. */
  #tickAt = Number.POSITIVE_INFINITY
  /** The last rest ended by itself: other workers may still rest. */
  #isAlone = false
  /** Counts what speaks against a rest that is being prepared. */
  #objections = 0

  constructor(options: RestOptions) {
    const { leaseMs, runtime } = options
    this.#options = options
    this.#leastMs = Math.max(LEAST_MS, 2 * leaseMs)
    this.#awakeUntil = runtime.monotonic() + AFTER_WORK_MS
  }

  get isOn(): boolean {
    return this.#state === 'resting'
  }

  /** The worker may not claim: it rests, or is not yet present again. */
  get isAway(): boolean {
    return this.isOn || this.#state === 'ending'
  }

  listen(): Promise<Subscription> {
    return this.#options.rest.onAnyWake((name) => this.#heard(name))
  }

  /** To be called after each claim that left room. Returns how long to rest; 0: go on as usual. */
  afterClaim({ jobs, nextDue, now }: Claimed, isQuiet: boolean): number {
    const { rest, runtime, maxMs } = this.#options
    const at = runtime.monotonic()
    if (jobs.length > 0) {
      this.#stayAwake(AFTER_WORK_MS)
      if (this.#isAlone) rest.rouse()
      this.#isAlone = false
    }
    const freeMs = nextDue ? nextDue.getTime() - now.getTime() : Number.POSITIVE_INFINITY
    // All workers look at the same moments: otherwise each would wake the database at another one.
    const lookMs = maxMs - (now.getTime() % maxMs)
    const ms = Math.min(lookMs, freeMs, this.#tickAt - at)
    if (!isQuiet || at < this.#awakeUntil || ms < this.#leastMs) {
      this.#object()
      return 0
    }
    if (this.#state === 'awake') void this.#prepare()
    if (this.#state !== 'prepared') return 0
    this.#begin(ms)
    return ms
  }

  /** Ends a rest; harmless otherwise. */
  async end(): Promise<void> {
    if (this.#state !== 'resting') return
    this.#state = 'ending'
    const { log, runtime, resume, onAwake } = this.#options
    this.#awakeUntil = Math.max(this.#awakeUntil, runtime.monotonic() + AFTER_REST_MS)
    log.debug({}, 'no longer resting')
    await resume().catch(() => {})
    this.#state = 'awake'
    onAwake()
  }

  async #prepare(): Promise<void> {
    const { store, rest, ticks, runtime, onAwake } = this.#options
    this.#state = 'preparing'
    const objections = this.#objections
    let isPrepared = false
    try {
      const isPossible = await rest.isPossible()
      const { nextAt, now } = ticks && isPossible ? await store.schedules.next() : { nextAt: null, now: null }
      const tickMs = nextAt && now ? nextAt.getTime() - now.getTime() : Number.POSITIVE_INFINITY
      this.#tickAt = runtime.monotonic() + tickMs
      isPrepared = isPossible && tickMs >= this.#leastMs
    } catch {
      // Claims report that the database cannot be reached.
    }
    if (!isPrepared) this.#stayAwake(AFTER_WORK_MS)
    this.#state = isPrepared && objections === this.#objections ? 'prepared' : 'awake'
    if (this.#state === 'prepared') onAwake()
  }

  #begin(ms: number): void {
    const { rest, worker, log, pause } = this.#options
    this.#state = 'resting'
    this.#isAlone = true
    log.debug({ ms: Math.round(ms) }, 'resting: nothing is sent to the database until a wake-up')
    rest.announceSilence(worker, ms).catch(() => {})
    pause()
  }

  #heard(name: string | null): void {
    // A connection that was lost and is back: what was prepared may have been missed, but nothing was heard.
    if (name !== null) {
      this.#isAlone = false
      this.#stayAwake(AFTER_WORK_MS)
    }
    this.#object()
    void this.end()
  }

  #object(): void {
    this.#objections += 1
    this.#tickAt = Number.POSITIVE_INFINITY
    if (this.#state === 'prepared') this.#state = 'awake'
  }

  #stayAwake(ms: number): void {
    this.#awakeUntil = this.#options.runtime.monotonic() + ms
  }
}
