import type { JobId } from '@oncue/core'
import type { Presence, Rescued, RunRef, Store, WorkerInfo } from '@oncue/db'
import { Outage } from '@oncue/runtime'
import type { Logger } from '../observability/log.ts'
import { GONE, type LeaseLedger, RUNNING, WAITING } from './ledger.ts'
import type { OwnedRun } from './owned-runs.ts'

/** When a run is first beaten for: shorter ones cost no heartbeat. */
const FIRST_BEAT_MS = 1_000
/** A cancel is seen within this, however long the lease. */
const MOST_BETWEEN_MS = 5_000
const RESCUE_MS = 1_000

/** Runs of one claim, as they travel between threads: cheap to send, and read only if one of them lasts. */
export interface Claim {
  /** 36 characters each. */
  readonly ids: string
  /** Run, timeout in milliseconds, position and generation of each. */
  readonly numbers: Int32Array
}

export function toClaim(owned: readonly OwnedRun[]): Claim {
  const numbers = new Int32Array(4 * owned.length)
  owned.forEach(({ job, position, generation }, n) => {
    numbers.set([job.run, job.timeoutMs, position, generation], 4 * n)
  })
  return { ids: owned.map(({ job }) => job.id).join(''), numbers }
}

/** Where a run stands in the ledger. */
export type LedgerPosition = readonly [position: number, generation: number]

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
  onLost(positions: LedgerPosition[]): void
  onCancelled(positions: LedgerPosition[]): void
  onRescued(rescued: Rescued[]): void
  /** Looks at the runs at every tick. */
  readonly watchdog?: ((runs: Iterable<KeptRun>) => void) | undefined
}

/**
 * Keeps a worker present and its runs leased, and frees the runs of the dead. Runs in a thread of its
 * own, where no handler can block it, or inline.
 */
export class LeaseKeeper {
  readonly #options: KeeperOptions
  readonly #firstBeatMs: number
  readonly #beatMs: number
  readonly #tickMs: number
  readonly #beatOutage: Outage
  readonly #rescueOutage: Outage
  #young: { readonly claim: Claim; readonly at: number }[] = []
  readonly #runs = new Map<string, KeptRun>()
  #presence: Presence | undefined
  #timer: NodeJS.Timeout | undefined
  #lookAgain: NodeJS.Timeout | undefined
  #rescuedAt = Number.NEGATIVE_INFINITY
  #beating: Promise<void> | undefined
  #rescuing: Promise<void> | undefined

  constructor(options: KeeperOptions) {
    this.#options = options
    const { leaseMs, log } = options
    this.#firstBeatMs = Math.min(FIRST_BEAT_MS, leaseMs / 4)
    this.#beatMs = Math.min(MOST_BETWEEN_MS, leaseMs / 4)
    this.#tickMs = Math.min(RESCUE_MS, this.#beatMs)
    this.#beatOutage = new Outage({ log, what: 'heartbeats' })
    this.#rescueOutage = new Outage({ log, what: 'looking for dead workers' })
  }

  async start(): Promise<{ visible: boolean }> {
    const { store, worker } = this.#options
    this.#presence = await store.attend(worker)
    this.#timer = setInterval(() => this.#tick(), this.#tickMs)
    return { visible: this.#presence.visible }
  }

  keep(claim: Claim): void {
    this.#young.push({ claim, at: performance.now() })
  }

  /** From now on nothing is beaten for. Whoever is under way is waited for. */
  async pause(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([this.#beating, this.#rescuing])
    clearTimeout(this.#lookAgain)
  }

  async stop(): Promise<void> {
    await this.pause()
    // Where the database is away, the others will see that nobody is there.
    await this.#presence?.leave().catch(() => {})
  }

  /** Those that are not over yet, also those that are too young to be beaten for. */
  all(): KeptRun[] {
    this.#growUp(Number.POSITIVE_INFINITY)
    this.#forgetGone()
    return [...this.#runs.values()]
  }

  #tick(): void {
    const now = performance.now()
    this.#growUp(now - this.#firstBeatMs)
    this.#forgetGone()
    this.#options.watchdog?.(this.#runs.values())
    this.#beating ??= this.#beat(now).finally(() => {
      this.#beating = undefined
    })
    // A timer may be a little early.
    if (now - this.#rescuedAt > RESCUE_MS * 0.9) this.#rescue()
  }

  /** Most runs are over by now: then nothing of their claim is ever read. */
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
    const now = performance.now()
    for (const [key, run] of this.#runs) {
      const state = this.#options.ledger.read(run.position, run.generation)
      if (state === GONE) this.#runs.delete(key)
      else if (state === RUNNING) run.runningSince ??= now
      else run.runningSince = null
    }
  }

  async #beat(now: number): Promise<void> {
    const { store, worker, leaseMs, ledger, onLost, onCancelled } = this.#options
    const due = [...this.#runs.values()].filter((run) => now - run.beatenAt > this.#beatMs * 0.9)
    if (due.length === 0) return
    const runs = due.map((run) => ({
      id: run.id,
      run: run.run,
      started: ledger.read(run.position, run.generation) !== WAITING,
    }))
    try {
      const { lost, cancelled, locked = [] } = await store.heartbeat({ worker: worker.id, leaseMs, runs })
      const skipped = new Set(locked.map(keyOf))
      for (const run of due) {
        if (skipped.has(keyOf(run))) this.#missed(run)
        else Object.assign(run, { beatenAt: now, missedBeats: 0 })
      }
      this.#beatOutage.worked()
      if (lost.length > 0) onLost(this.#positionsOf(lost, (run) => this.#runs.delete(keyOf(run))))
      const news = cancelled.filter((run) => this.#runs.get(keyOf(run))?.isCancelled === false)
      const markCancelled = (run: KeptRun) => {
        run.isCancelled = true
      }
      if (news.length > 0) onCancelled(this.#positionsOf(news, markCancelled))
    } catch (error) {
      this.#beatOutage.failed(error)
    }
  }

  /** The next tick beats for it again. A lock that is still there by then is not that of its own settle. */
  #missed(run: KeptRun): void {
    run.missedBeats += 1
    if (run.missedBeats !== 2) return
    const message = 'cannot extend the lease of this run: another transaction has locked the row of its job'
    this.#options.log.warn({ job: run.id, run: run.run }, message)
  }

  #positionsOf(refs: readonly RunRef[], note: (run: KeptRun) => void): LedgerPosition[] {
    return refs.flatMap((ref) => {
      const run = this.#runs.get(keyOf(ref))
      if (!run) return []
      note(run)
      return [[run.position, run.generation] as const]
    })
  }

  #rescue(): void {
    if (this.#rescuing) return
    clearTimeout(this.#lookAgain)
    this.#rescuedAt = performance.now()
    this.#rescuing = this.#lookForDead().finally(() => {
      this.#rescuing = undefined
    })
  }

  async #lookForDead(): Promise<void> {
    const { store, worker, onRescued } = this.#options
    try {
      const { rescued, lookAgainMs } = await store.rescue(worker.id)
      this.#rescueOutage.worked()
      if (lookAgainMs !== null) this.#lookAgain = setTimeout(() => this.#rescue(), lookAgainMs)
      if (rescued.length > 0) onRescued(rescued)
    } catch (error) {
      this.#rescueOutage.failed(error)
    }
  }
}

type Numbers = [run: number, timeoutMs: number, position: number, generation: number]

function keyOf({ id, run }: RunRef): string {
  return `${id} ${run}`
}
