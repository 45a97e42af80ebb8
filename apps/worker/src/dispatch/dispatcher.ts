import { isOncueError } from '@oncue/core'
import type { Claimed, ClaimedJob, Settled, Settlement } from '@oncue/db'
import { backoff, Outage, type Runtime, type Timer } from '@oncue/runtime'
import type { OwnedRun } from '../lease/owned-runs.ts'
import { asWritten, reportEnd } from '../observability/report.ts'
import type { OnFailed } from '../options.ts'
import { Rest, type RestOptions } from './rest.ts'
import { type Batch, Settler } from './settler.ts'
import { Slots, type SlotsOptions } from './slots.ts'

/** Concurrent exchanges with the database: while one is under way, the jobs of the other run. */
const IN_FLIGHT = 2
/** Jobs in one claim, and ends in one settle. */
const BATCH = 500
/** With more unwritten ends than this nothing is claimed: the database cannot keep up. */
export const MOST_UNSETTLED = 2_000
/** How long an end waits to be written together with others. */
const FLUSH_MS = 4
/** When to claim again after a claim that found fewer jobs than it asked for: it does not say when the next is due. */
const NEXT_LOOK_MS = 100
/** After this many empty claims in a row, a worker that can be woken polls half as often. */
const IDLE_CLAIMS = 3
/** How long stop() keeps trying to write ends. */
const LAST_WRITES_MS = 10_000
const RESULT_REFUSED = 'database rejected the result of a run; its job failed'
const END_REFUSED =
  'database rejected both the result of a run and its failure; the job runs again when its lease expires'

export interface DispatcherOptions extends Omit<SlotsOptions, 'onEnd' | 'onWritten' | 'onChange'> {
  readonly queues: readonly string[]
  readonly topics: readonly string[]
  readonly pollMs: number
  /** Absent: this worker always polls. */
  readonly rest: Omit<RestOptions, 'onAwake'> | undefined
  /** Hands runs to the lease, before any of them starts. */
  readonly keep: (owned: readonly OwnedRun[]) => void
  /** Called with every end that was written, as it was written. */
  readonly onSettled: ((job: ClaimedJob, settlement: Settlement) => void) | undefined
  readonly onFailed: OnFailed | undefined
}

/** What a worker does at this moment. */
export interface WorkerStats {
  /** How many handlers may run at once. */
  readonly slots: number
  /** Handlers that run now. */
  readonly running: number
  /** Claimed, and waiting for a slot. */
  readonly prefetched: number
  /** Ended, and not written yet. */
  readonly unsettled: number
  /** Nothing is due, and the worker waits for a wake-up without polling. */
  readonly resting: boolean
  /** Claims sent, and jobs claimed. */
  readonly claims: number
  readonly claimed: number
  /** Ends that were written, by what they were. */
  readonly settled: Readonly<Record<Settlement['kind'], number>>
  /** Ends that were refused because the run no longer owned its job. */
  readonly stale: number
  /** Runs that lost their lease while they ran or waited. */
  readonly lost: number
  /** Handlers that ignored their signal. */
  readonly abandoned: number
}

/**
 * Decides when to settle and when to claim. One function, #turn, reads the current state and sends what is
 * due; every event only changes the state and takes another turn.
 *
 * Invariants: slots, prefetch and ledger have room for everything asked for, claims under way included; a
 * claimed run is in `runs` until its end is written.
 */
export class Dispatcher {
  readonly slots: Slots
  /** Present if this worker rests when it is idle. */
  readonly rest: Rest | undefined
  readonly #options: DispatcherOptions
  readonly #runtime: Runtime
  readonly #settler: Settler
  readonly #outage: Outage
  #turnSoon = false
  #inFlight = 0
  /** Jobs asked for by claims under way, and how many of them would start at once. */
  #claiming = 0
  #starting = 0

  /** There may be something new to claim. */
  #hungry = true
  /** The last claim brought as many jobs as it asked for: there are more. */
  #backlog = false
  #emptyClaims = 0
  #look: Timer | undefined
  /** Ends have waited long enough for others. */
  #flushNow = false
  #flush: Timer | undefined
  #retry: Timer | undefined
  /** The response to a claim was lost: this worker may own runs that it does not know of. */
  #unsure = false

  /** What is due waits for a rate limit: drainers ask again with the next poll. */
  #throttled = false
  #drainers: { asked: boolean; readonly resolve: () => void }[] = []
  #stopping: Promise<void> | undefined
  #stopped: (() => void) | undefined
  #graceEndsAt = Number.POSITIVE_INFINITY
  #graceEnds: Timer | undefined
  #givesUp: Timer | undefined
  #gaveUp = false
  #hasStarted = false
  #isOver = false

  #claims = 0
  #claimed = 0
  readonly #settled = {
    complete: 0,
    retry: 0,
    fail: 0,
    snooze: 0,
    release: 0,
    suspend: 0,
    undone: 0,
    cancel: 0,
  }
  #stale = 0
  /** Calls of `onFailed` that have not ended. */
  readonly #hooks = new Set<Promise<unknown>>()

  constructor(options: DispatcherOptions) {
    const { log, runtime } = options
    this.#options = options
    this.#runtime = options.runtime
    this.#settler = new Settler(options.runs)
    this.rest = options.rest && new Rest({ ...options.rest, onAwake: () => this.wake() })
    this.#outage = new Outage({ log, runtime, what: 'claiming and settling jobs' })
    this.slots = new Slots({
      ...options,
      onEnd: (owned, settlement) => {
        this.#settler.add(owned, settlement)
        this.#turnLater()
      },
      onWritten: ({ job }, settlement) => {
        this.#tell(job, settlement)
        // Its end may have released others.
        this.wake()
      },
      onChange: () => this.#turnLater(),
    })
  }

  stats(): WorkerStats {
    return {
      slots: this.#options.concurrency,
      running: this.slots.running,
      prefetched: this.slots.prefetched,
      unsettled: this.#settler.unsettled,
      resting: this.rest?.isOn ?? false,
      claims: this.#claims,
      claimed: this.#claimed,
      settled: { ...this.#settled },
      stale: this.#stale,
      lost: this.slots.lostRuns,
      abandoned: this.slots.abandonedRuns,
    }
  }

  start(): void {
    this.#hasStarted = true
    this.#turn()
  }

  /** There may be something new. Before the start nothing is claimed: the worker may still fail to start. */
  wake(): void {
    if (!this.#hasStarted) return
    if (this.rest?.isAway) return void this.rest.end()
    this.#hungry = true
    this.#throttled = false
    this.#turnLater()
  }

  drain(): Promise<void> {
    if (this.#stopping) return this.#stopping
    return new Promise((resolve) => {
      this.#drainers.push({ asked: false, resolve })
      if (this.rest?.isAway) this.wake()
      this.#turnLater()
    })
  }

  /** Idempotent; a second call can only shorten the wait of the first. */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= new Promise((resolve) => {
      this.#stopped = resolve
    })
    const endsAt = this.#runtime.monotonic() + graceMs
    if (this.#isOver || endsAt >= this.#graceEndsAt) return this.#stopping
    this.#graceEndsAt = endsAt
    this.#runtime.cancel(this.#graceEnds)
    this.#graceEnds = this.#runtime.after(graceMs, () => this.slots.abortAll())
    this.#runtime.cancel(this.#look)
    this.slots.close()
    return this.#stopping
  }

  get #isQuiet(): boolean {
    return this.slots.running + this.slots.prefetched + this.#inFlight + this.#settler.unsettled === 0
  }

  /** As seen by the exchange under way. */
  get #mayRest(): boolean {
    const isBusy = this.slots.running + this.slots.prefetched + this.#settler.unsettled > 0
    const isAsked = this.#drainers.length > 0 || this.#stopping !== undefined
    return !isBusy && !isAsked && this.#inFlight === 1 && !this.#unsure && !this.#hungry
  }

  #turnLater(): void {
    if (this.#turnSoon) return
    this.#turnSoon = true
    this.#runtime.after(0, () => {
      this.#turnSoon = false
      this.#turn()
    })
  }

  #turn(): void {
    if (this.#isOver) return
    this.slots.fill()
    if (this.#drainers.length > 0) this.#askForDrainers()
    while (this.#inFlight < (this.#outage.isOn ? 1 : IN_FLIGHT) && this.#sendNext()) {}
    const waits = this.#settler.waiting > 0 && !this.#flushNow
    if (waits) this.#flush ??= this.#runtime.after(FLUSH_MS, () => this.#flushDue())
    if (this.#stopping) this.#endStop()
  }

  // --- what is due

  /** Sends one exchange if one is due. */
  #sendNext(): boolean {
    if (this.#retry) return false
    if (this.#unsure) return this.#inFlight === 0 && this.#send(() => this.#releaseUnknown())
    const limit = Math.min(this.#room(), BATCH)
    const claims = limit > 0 && this.#isWorthAClaim(limit)
    const settles = this.#settler.waiting > 0 && (claims || this.#isWorthASettle())
    if (!claims && !settles) return false
    const batch = this.#settler.take(settles ? BATCH : 0)
    return this.#send(() => this.#exchange(batch, limit))
  }

  #room(): number {
    if (this.#stopping || this.#settler.unsettled > MOST_UNSETTLED) return 0
    return Math.min(this.slots.free + this.slots.ahead, this.#options.runs.room) - this.#claiming
  }

  /** There may be jobs, and a slot would be idle without one, or there is room for a batch. */
  #isWorthAClaim(limit: number): boolean {
    // The claim under way may return what is new. Two claims at once only if there is a known backlog.
    if (!this.#backlog && (!this.#hungry || this.#claiming > 0)) return false
    return this.slots.free > this.#claiming || limit >= Math.min(BATCH, this.slots.ahead / 2)
  }

  /** There is a batch, or nothing else can join it, or it has waited long enough. */
  #isWorthASettle(): boolean {
    const { running, prefetched } = this.slots
    return this.#flushNow || this.#settler.waiting >= BATCH || running + prefetched === 0
  }

  #flushDue(): void {
    this.#flush = undefined
    this.#flushNow = true
    this.#turn()
  }

  /** Sets the next poll; earlier, by the database's clock, if a job is due earlier. */
  #lookAfter({ jobs, nextDue, now }: Claimed, restMs: number): void {
    this.#emptyClaims = jobs.length > 0 ? 0 : this.#emptyClaims + 1
    const { pollMs, store } = this.#options
    const isIdle = this.#emptyClaims > IDLE_CLAIMS && store.capabilities.sessions
    const poll = pollMs * (1 + this.#runtime.random() / 5) * (isIdle ? 2 : 1)
    const next = jobs.length > 0 ? NEXT_LOOK_MS : dueIn(nextDue, now, this.#emptyClaims, this.#runtime)
    this.#runtime.cancel(this.#look)
    if (!this.#stopping) this.#look = this.#runtime.after(restMs || Math.min(poll, next), () => this.wake())
  }

  // --- exchanges

  #send(exchange: () => Promise<void>): true {
    this.#inFlight += 1
    exchange()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#inFlight -= 1
        this.#turn()
      })
    return true
  }

  async #exchange(batch: Batch, limit: number): Promise<void> {
    const { store, worker, queues, topics, leaseMs } = this.#options
    this.#flushNow = false
    this.#runtime.cancel(this.#flush)
    this.#flush = undefined
    if (limit <= 0) {
      await this.#settling(batch, () => store.settle(batch.settlements, worker))
      return
    }
    const start = Math.max(0, Math.min(limit, this.slots.free - this.#starting))
    const thorough = this.#drainers.some(({ asked }) => asked)
    const request = { worker, queues, topics, leaseMs, limit, start, thorough }
    this.#hungry = false
    this.#claims += 1
    this.#claiming += limit
    this.#starting += start
    let claimed: Claimed
    try {
      claimed = await this.#settling(batch, async () => {
        // Releases jobs whose parents ended while their edges were being committed.
        if (thorough) await store.rescue(worker)
        return store.settleAndClaim(batch.settlements, request)
      })
    } catch (error) {
      this.#hungry = true
      this.#unsure = true
      throw error
    } finally {
      this.#claiming -= limit
      this.#starting -= start
    }
    this.#received(claimed, limit, start)
    // A claim whose response was lost may have found something.
    const isEmpty = claimed.jobs.length === 0 && !claimed.unanswered
    this.#throttled = thorough && isEmpty && (await store.throttled({ queues, topics }))
    this.#resolveDrainers(isEmpty && !this.#throttled)
  }

  async #settling<Result extends Settled>(batch: Batch, send: () => Promise<Result>): Promise<Result> {
    const { mark } = this.#outage
    let result: Result
    try {
      result = await send()
    } catch (error) {
      this.#settler.putBack(batch)
      throw error
    }
    this.#outage.worked(mark)
    this.#settler.written(batch)
    batch.settlements.forEach((settlement, n) => {
      const { job } = batch.owned[n] as OwnedRun
      const written = asWritten(job, settlement, result)
      if (written) this.#tell(job, written)
    })
    this.#report(result)
    return result
  }

  #tell(job: ClaimedJob, settlement: Settlement): void {
    const { log, onSettled, onFailed } = this.#options
    this.#settled[settlement.kind] += 1
    reportEnd(log, job, settlement)
    try {
      onSettled?.(job, settlement)
    } catch (err) {
      log.error({ err, job: job.id }, 'onSettled threw an error; it was ignored')
    }
    if (!onFailed || settlement.kind !== 'fail') return
    const { error } = settlement
    const hook = Promise.resolve()
      .then(() => onFailed(job, error))
      .catch((err: unknown) =>
        log.error({ err, job: job.id, topic: job.topic }, 'onFailed threw an error; the job stays failed'),
      )
      .finally(() => this.#hooks.delete(hook))
    this.#hooks.add(hook)
  }

  /** Resolves when the hooks that were called have ended. */
  async hooksEnded(): Promise<void> {
    await Promise.all(this.#hooks)
  }

  #report({ stale, refused }: Settled): void {
    const { log } = this.#options
    this.#stale += stale.length
    for (const { id, run } of stale) {
      log.warn({ job: id, run }, 'run lost its lease; its result was discarded')
    }
    for (const { id, run, reason, error } of refused) {
      log.error({ job: id, run, reason }, error ? RESULT_REFUSED : END_REFUSED)
    }
  }

  #received(claimed: Claimed, limit: number, start: number): void {
    const { jobs } = claimed
    if (claimed.unanswered) this.#unsure = true
    this.#backlog = jobs.length === limit
    const restMs = this.rest?.afterClaim(claimed, this.#mayRest) ?? 0
    if (!this.#backlog) this.#lookAfter(claimed, restMs)
    if (jobs.length === 0) return
    this.#claimed += jobs.length
    const owned = jobs.map((job, n) => this.#options.runs.add(job, n < start))
    this.#options.keep(owned)
    this.slots.add(owned)
  }

  #failed(error: unknown): void {
    const wait = this.#outage.failed(error)
    if (isOncueError(error, 'STORE_CLOSED')) this.#gaveUp = true
    this.#retry ??= this.#runtime.after(wait, () => {
      this.#retry = undefined
      this.#turn()
    })
    for (const drainer of this.#drainers) drainer.asked = false
  }

  async #releaseUnknown(): Promise<void> {
    const { store, worker, runs, log } = this.#options
    const unknown = runs.unknown(await store.ownedRuns(worker))
    if (unknown.length > 0) {
      const released = unknown.map((run) => ({ ...run, kind: 'release' as const }))
      await store.settle(released, worker)
      log.warn({ count: unknown.length }, 'released jobs of a claim whose response was lost')
    }
    this.#unsure = false
  }

  // --- drain and stop

  /** Nothing is left in this worker. Only a claim sent from now on tells whether the database has more. */
  #askForDrainers(): void {
    if (this.rest?.isAway || this.#throttled || !this.#isQuiet || this.#drainers.every(({ asked }) => asked))
      return
    for (const drainer of this.#drainers) drainer.asked = true
    this.#hungry = true
  }

  #resolveDrainers(isEmpty: boolean): void {
    const asked = this.#drainers.filter((drainer) => drainer.asked)
    if (isEmpty) this.#drainers = this.#drainers.filter((drainer) => !drainer.asked)
    for (const drainer of asked) {
      if (isEmpty) drainer.resolve()
      else drainer.asked = false
    }
  }

  #endStop(): void {
    if (this.slots.running > 0) return
    this.#givesUp ??= this.#runtime.after(LAST_WRITES_MS, () => {
      this.#gaveUp = true
      this.#turn()
    })
    const isDone = this.#isQuiet && !this.#unsure
    if (!isDone && !this.#gaveUp) return
    if (!isDone) {
      const { unsettled } = this.#settler
      this.#options.log.error(
        { unsettled },
        'stopped before all runs were settled; their jobs run again when their leases expire',
      )
    }
    this.#isOver = true
    const timers = [this.#look, this.#flush, this.#retry, this.#graceEnds, this.#givesUp]
    for (const timer of timers) this.#runtime.cancel(timer)
    for (const { resolve } of this.#drainers.splice(0)) resolve()
    this.#stopped?.()
  }
}

const OVERDUE = { firstMs: 1, maxMs: 4_096, jitter: 0 }

/** A due job that was not claimed belongs to another worker or is over a limit: wait longer each time. */
function dueIn(nextDue: Date | null, now: Date, attempts: number, runtime: Runtime): number {
  if (nextDue === null) return Number.POSITIVE_INFINITY
  const ms = nextDue.getTime() - now.getTime()
  return ms > 0 ? ms : backoff(attempts, OVERDUE, runtime)
}
