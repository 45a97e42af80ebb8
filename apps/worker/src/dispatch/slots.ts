import type { ClaimedJob, RunRef, Settlement, Store } from '@oncue/db'
import type { Logger, Runtime, Timer } from '@oncue/runtime'
import { RUNNING, WAITING } from '../lease/ledger.ts'
import type { OwnedRun, OwnedRuns } from '../lease/owned-runs.ts'
import type { Ending, Executor } from '../run/executor.ts'
import { Prefetch } from './prefetch.ts'

/** How long handlers that never wait may keep the event loop before it gets a turn. */
const BURST_MS = 5
/** How long prefetched jobs wait for a slot before they are released for other workers. */
const STALLED_MS = 1_000

export interface SlotsOptions {
  readonly store: Store
  /** Id of the worker. */
  readonly worker: string
  readonly leaseMs: number
  readonly concurrency: number
  readonly log: Logger
  readonly executor: Executor
  readonly runs: OwnedRuns
  readonly runtime: Runtime
  /** Called with the end of a run, to be written. */
  readonly onEnd: (owned: OwnedRun, settlement: Settlement) => void
  /** Called with the end of a run that its handler has written itself. */
  readonly onWritten: (owned: OwnedRun, settlement: Settlement) => void
  /** Called when a slot becomes free or fewer runs wait. */
  readonly onChange: () => void
}

/** Runs under way, and prefetched ones that wait for a slot. */
export class Slots {
  readonly #options: SlotsOptions
  readonly #runtime: Runtime
  readonly #prefetch = new Prefetch()
  #waiting: OwnedRun[] = []
  #nextWaiting = 0
  #running = 0
  #started = 0
  #filledAt = 0
  #isClosed = false
  #stallCheck: Timer | undefined
  #lost = 0
  #abandoned = 0

  constructor(options: SlotsOptions) {
    this.#options = options
    this.#runtime = options.runtime
  }

  get running(): number {
    return this.#running
  }

  get prefetched(): number {
    return this.#waiting.length - this.#nextWaiting
  }

  /** Slots for which there is no job, not even a waiting one; below zero when more wait. */
  get free(): number {
    return this.#options.concurrency - this.#running - this.prefetched
  }

  /** How many jobs to prefetch. */
  get ahead(): number {
    return this.#prefetch.count(this.#options.concurrency)
  }

  /** Runs that lost their lease while they ran or waited. */
  get lostRuns(): number {
    return this.#lost
  }

  get abandonedRuns(): number {
    return this.#abandoned
  }

  add(owned: readonly OwnedRun[]): void {
    this.#waiting = [...this.#waiting.slice(this.#nextWaiting), ...owned]
    this.#nextWaiting = 0
    this.#prefetch.observeSizes(owned.map(({ job }) => job.payload))
    if (this.#isClosed) this.#releaseWaiting()
  }

  /** Starts waiting runs. To be called once per turn of the event loop in which something changed. */
  fill(): void {
    this.#filledAt = this.#runtime.monotonic()
    this.#startWaiting(this.#filledAt)
    if (this.prefetched > 0) this.#watchForStall()
  }

  /** Another run may own the job by now: aborts the handler; its result is not written. */
  lost(owned: OwnedRun): void {
    // If it has ended, its settle reports this.
    if (owned.state !== RUNNING && owned.state !== WAITING) return
    const heard = owned.run?.heard()
    if (heard) void heard.then(() => this.#lose(owned))
    else this.#lose(owned)
  }

  #lose(owned: OwnedRun): void {
    if (owned.state !== RUNNING && owned.state !== WAITING) return
    // Its handler has ended the job itself, and goes on.
    if (owned.run?.isCompleting) return
    const { runs, log } = this.#options
    this.#lost += 1
    const { id, topic, run } = owned.job
    log.warn({ job: id, topic, run }, 'run lost its lease; aborting it')
    if (owned.state === RUNNING) owned.run?.abort('lost')
    else runs.drop(owned)
  }

  /** The job was cancelled. */
  cancelled(owned: OwnedRun): void {
    if (owned.state === RUNNING) owned.run?.abort('cancelled')
    else if (owned.state === WAITING) this.#options.onEnd(owned, { ...ref(owned.job), kind: 'cancel' })
  }

  /** Releases waiting runs, and those added later; nothing starts any more. */
  close(): void {
    this.#isClosed = true
    this.#runtime.cancel(this.#stallCheck)
    this.#releaseWaiting()
  }

  abortAll(): void {
    for (const { state, run } of this.#options.runs.all()) {
      if (state === RUNNING) run?.abort('shutdown')
    }
  }

  #startWaiting(now: number): void {
    const { concurrency } = this.#options
    while (this.#running < concurrency && this.#nextWaiting < this.#waiting.length) {
      const owned = this.#waiting[this.#nextWaiting] as OwnedRun
      this.#nextWaiting += 1
      // Lost or cancelled while it waited.
      if (owned.state !== WAITING) continue
      this.#running += 1
      this.#started += 1
      if (owned.charged || !hasEndedUncharged(owned.job)) this.#start(owned, now)
      else void this.#charge(owned).then(() => this.#startCharged(owned))
    }
  }

  /**
   * A prefetched run is charged by its first heartbeat, a second after its start. A job that kills its worker
   * sooner would never be charged, so a job that had an uncharged run is charged before it starts.
   */
  async #charge({ job }: OwnedRun): Promise<void> {
    const { store, worker, leaseMs } = this.#options
    // If this fails, its end cannot be written either, and that is logged.
    await store.heartbeat({ worker, leaseMs, runs: [ref(job)] }).catch(() => {})
  }

  #startCharged(owned: OwnedRun): void {
    if (owned.state === WAITING && !this.#isClosed) {
      this.#start(owned, this.#runtime.monotonic())
      return
    }
    this.#running -= 1
    if (owned.state === WAITING) this.#options.onEnd(owned, { ...ref(owned.job), kind: 'release' })
    this.#options.onChange()
  }

  #start(owned: OwnedRun, now: number): void {
    const { runs, executor } = this.#options
    runs.start(owned, now)
    owned.run = executor.start(owned.job, (ending) => this.#ended(owned, ending), now)
  }

  #ended(owned: OwnedRun, { settlement, abandoned, isWritten }: Ending): void {
    const now = this.#runtime.monotonic()
    this.#running -= 1
    this.#prefetch.observeRun(now - owned.startedAt)
    if (abandoned) this.#abandoned += 1
    if (settlement && !isWritten) this.#options.onEnd(owned, settlement)
    else this.#options.runs.drop(owned)
    if (settlement && isWritten) this.#options.onWritten(owned, settlement)
    if (now - this.#filledAt < BURST_MS) this.#startWaiting(now)
    this.#options.onChange()
  }

  #releaseWaiting(): void {
    const waiting = this.#waiting.slice(this.#nextWaiting)
    this.#waiting = []
    this.#nextWaiting = 0
    for (const owned of waiting) {
      if (owned.state === WAITING) this.#options.onEnd(owned, { ...ref(owned.job), kind: 'release' })
    }
    this.#options.onChange()
  }

  /** Jobs turned out longer than expected: other workers may have free slots for those that wait here. */
  #watchForStall(): void {
    if (this.#stallCheck) return
    const started = this.#started
    this.#stallCheck = this.#runtime.after(STALLED_MS, () => {
      this.#stallCheck = undefined
      if (this.#started === started && this.prefetched > 0) {
        this.#prefetch.reset()
        this.#releaseWaiting()
      }
      this.#options.onChange()
    })
  }
}

/** Released, snoozed or requeued, or its worker died before it was charged. */
function hasEndedUncharged({ run, retries, crashes }: ClaimedJob): boolean {
  return run - 1 > retries + crashes
}

function ref({ id, run }: ClaimedJob): RunRef {
  return { id, run }
}
