import type { JobId } from '@oncue/core'
import type { Presence, Rescued, RunRef, Store, WorkerInfo } from '@oncue/db'
import { type Logger, Loop, type PausableRuntime, pausable, type Runtime, type Timer } from '@oncue/runtime'
import { GONE, type LeaseLedger, type LedgerPosition, RUNNING, WAITING } from './ledger.ts'
import type { OwnedRun } from './owned-runs.ts'

/** Age of a run at its first heartbeat: shorter runs cost none. */
const FIRST_BEAT_MS = 1_000
/** However long the lease, heartbeats come this often: they also bring cancellations. */
const MOST_BETWEEN_MS = 5_000
const RESCUE_MS = 1_000
const WHEN_WOKEN = Number.POSITIVE_INFINITY

/** The runs of one claim, as they are sent to the lease thread: cheap to send, and read only if one of them lasts. */
export interface Claim {
  /** 36 characters each. */
  readonly ids: string
  /** Run, timeout in milliseconds, position and generation of each. */
  readonly numbers: Int32Array
}

export function toClaim(owned: readonly OwnedRun[]): Claim {
  const numbers = new Int32Array(4 * owned.length)
  let n = 0
  for (const { job, position, generation } of owned) {
    numbers[n++] = job.run
    numbers[n++] = job.timeoutMs
    numbers[n++] = position
    numbers[n++] = generation
  }
  return { ids: owned.map(({ job }) => job.id).join(''), numbers }
}

export interface KeptRun extends RunRef {
  readonly position: number
  readonly generation: number
  readonly timeoutMs: number
  beatenAt: number
  /** When it was first seen running. */
  runningSince: number | null
  isCancelled: boolean
  /** How often in a row its lease was not extended because its row was locked by another transaction. */
  missedBeats: number
}

export interface KeeperOptions {
  readonly store: Store
  readonly worker: WorkerInfo
  readonly leaseMs: number
  readonly ledger: LeaseLedger
  readonly log: Logger
  readonly runtime: Runtime
  onLost(positions: LedgerPosition[]): void
  onCancelled(positions: LedgerPosition[]): void
  onRescued(rescued: Rescued[]): void
  /** Checks the runs at every tick. */
  readonly watchdog?: ((runs: Iterable<KeptRun>) => void) | undefined
}

/**
 * Keeps a worker present and its runs leased, and frees the runs of dead workers. Runs in a thread of its
 * own, where no handler can block it, or inline.
 */
export class LeaseKeeper {
  readonly #options: KeeperOptions
  readonly #runtime: PausableRuntime
  readonly #firstBeatMs: number
  readonly #beatMs: number
  readonly #tickMs: number
  readonly #beats: Loop
  readonly #rescues: Loop
  #young: { readonly claim: Claim; readonly at: number }[] = []
  readonly #runs = new Map<string, KeptRun>()
  #attending: Promise<Presence> | undefined
  #ticks: Timer | undefined
  #isStopping = false

  constructor(options: KeeperOptions) {
    this.#options = options
    const { leaseMs, log } = options
    const runtime = pausable(options.runtime)
    this.#runtime = runtime
    this.#firstBeatMs = Math.min(FIRST_BEAT_MS, leaseMs / 4)
    this.#beatMs = Math.min(MOST_BETWEEN_MS, leaseMs / 4)
    this.#tickMs = Math.min(RESCUE_MS, this.#beatMs)
    const every = (ms: number) => ({ firstMs: ms, maxMs: ms, jitter: 0 })
    const [beat, rescue] = [() => this.#beat(), () => this.#rescue()]
    this.#beats = new Loop({ log, runtime, what: 'heartbeats', work: beat, backoff: every(this.#tickMs) })
    this.#rescues = new Loop({
      log,
      runtime,
      what: 'rescuing runs of dead workers',
      work: rescue,
      backoff: every(RESCUE_MS),
    })
  }

  async start(): Promise<{ visible: boolean }> {
    const { store, worker } = this.#options
    this.#attending ??= store.attend(worker)
    const { visible } = await this.#attending
    if (this.#isStopping || this.#ticks) return { visible }
    this.#ticks = this.#runtime.every(this.#tickMs, () => this.#tick())
    this.#beats.start()
    return { visible }
  }

  keep(claim: Claim): void {
    this.#young.push({ claim, at: this.#options.runtime.monotonic() })
  }

  /** Sends nothing until it resumes; for a worker without runs. */
  rest(): void {
    this.#runtime.pause()
    this.#options.store.rest?.pause(this.#options.worker.id)
  }

  /** The rescue is a heartbeat, too: a worker that claims again must not count as missing. */
  async resume(): Promise<void> {
    this.#runtime.resume()
    await this.#options.store.rest?.resume(this.#options.worker.id)
    await this.#rescue().catch(() => {})
  }

  /** Ends heartbeats and rescues; waits for those under way. */
  async pause(): Promise<void> {
    this.#isStopping = true
    this.#runtime.cancel(this.#ticks)
    await Promise.all([this.#beats.stop(), this.#rescues.stop()])
  }

  /** Also ends a start that is under way. */
  async stop(): Promise<void> {
    await this.pause()
    // If the database cannot be reached, other workers notice the absence by themselves.
    await this.#attending?.then((presence) => presence.leave()).catch(() => {})
  }

  /** All runs that are not over, also those too young for a heartbeat. */
  all(): KeptRun[] {
    this.#growUp(Number.POSITIVE_INFINITY)
    this.#forgetGone()
    return [...this.#runs.values()]
  }

  #tick(): void {
    this.#growUp(this.#options.runtime.monotonic() - this.#firstBeatMs)
    this.#forgetGone()
    this.#options.watchdog?.(this.#runs.values())
    this.#beats.wake()
    // From the first tick on, and not while many workers start.
    this.#rescues.start()
  }

  /** Takes up the runs of claims older than this. Most runs are over by then, and their claim is not read at all. */
  #growUp(until: number): void {
    const { ledger } = this.#options
    const grown = this.#young.findIndex(({ at }) => at > until)
    const claims = this.#young.splice(0, grown === -1 ? this.#young.length : grown)
    for (const { ids, numbers } of claims.map(({ claim }) => claim)) {
      for (let n = 0; 4 * n < numbers.length; n++) {
        const [run, timeoutMs, position, generation] = numbers.subarray(4 * n) as unknown as Numbers
        if (ledger.read(position, generation) === GONE) continue
        const id = ids.slice(36 * n, 36 * (n + 1)) as JobId
        const fresh = {
          beatenAt: Number.NEGATIVE_INFINITY,
          runningSince: null,
          isCancelled: false,
          missedBeats: 0,
        }
        const kept = { id, run, position, generation, timeoutMs, ...fresh }
        this.#runs.set(keyOf(kept), kept)
      }
    }
  }

  #forgetGone(): void {
    const { ledger, runtime } = this.#options
    const now = runtime.monotonic()
    for (const [key, run] of this.#runs) {
      const state = ledger.read(run.position, run.generation)
      if (state === GONE) this.#runs.delete(key)
      else if (state === RUNNING) run.runningSince ??= now
      else run.runningSince = null
    }
  }

  async #beat(): Promise<number> {
    const { store, worker, leaseMs, ledger, runtime, onLost, onCancelled } = this.#options
    const now = runtime.monotonic()
    // A timer may be a little early.
    const due = [...this.#runs.values()].filter((run) => now - run.beatenAt > this.#beatMs * 0.9)
    if (due.length === 0) return WHEN_WOKEN
    const runs = due.map((run) => ({
      id: run.id,
      run: run.run,
      started: ledger.read(run.position, run.generation) !== WAITING,
    }))
    const { lost, cancelled, locked = [] } = await store.heartbeat({ worker: worker.id, leaseMs, runs })
    const skipped = new Set(locked.map(keyOf))
    for (const run of due) {
      if (skipped.has(keyOf(run))) this.#missed(run)
      else Object.assign(run, { beatenAt: now, missedBeats: 0 })
    }
    if (lost.length > 0) onLost(this.#positionsOf(lost, (run) => this.#runs.delete(keyOf(run))))
    const news = cancelled.filter((run) => this.#runs.get(keyOf(run))?.isCancelled === false)
    const markCancelled = (run: KeptRun) => {
      run.isCancelled = true
    }
    if (news.length > 0) onCancelled(this.#positionsOf(news, markCancelled))
    return WHEN_WOKEN
  }

  /** The next tick sends its heartbeat again. A lock that still exists then is not that of its own settle. */
  #missed(run: KeptRun): void {
    run.missedBeats += 1
    if (run.missedBeats !== 2) return
    const message = 'could not extend the lease of a run: another transaction holds a lock on its job'
    this.#options.log.warn({ job: run.id, run: run.run }, message)
  }

  #positionsOf(refs: readonly RunRef[], visit: (run: KeptRun) => void): LedgerPosition[] {
    return refs.flatMap((ref) => {
      const run = this.#runs.get(keyOf(ref))
      if (!run) return []
      visit(run)
      return [[run.position, run.generation] as const]
    })
  }

  async #rescue(): Promise<number> {
    const { store, worker, onRescued } = this.#options
    const { rescued, lookAgainMs } = await store.rescue(worker.id)
    if (rescued.length > 0) onRescued(rescued)
    return Math.min(lookAgainMs ?? RESCUE_MS, RESCUE_MS)
  }
}

type Numbers = [run: number, timeoutMs: number, position: number, generation: number]

function keyOf({ id, run }: RunRef): string {
  return `${id} ${run}`
}
