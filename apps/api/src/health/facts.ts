import { INTERNAL_QUEUE } from '@oncue/core/internal'
import { SPARK_MINUTES } from '@oncue/core/wire'
import type {
  ActivityPoint,
  AlertRuleRow,
  BulkOperationRow,
  FailureGroup,
  GaugeSample,
  QueueOverview,
  Store,
  WorkerRow,
} from '@oncue/db'
import type { Control } from '@oncue/db/control'
import type { Runtime } from '@oncue/runtime'
import { TtlCache } from '../ttl-cache.ts'
import { lastHour, minuteOf } from './ended.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Slow or slowly changing reads are cached this long. */
const SLOW_MS = 5_000
/** More than are shown: some may be of the internal queue. */
const FAILURES = 20
/** How many bulk operations are shown. */
const BULK_OPERATIONS = 5

/** The facts behind health, without the internal queue and workers that serve nothing else. */
export interface Facts {
  readonly now: Date
  readonly queues: readonly QueueOverview[]
  /** The internal queue, from which alerts are sent; null: it was never used. */
  readonly own: QueueOverview | null
  readonly workers: readonly WorkerRow[]
  /** In the last hour. */
  readonly activity: readonly ActivityPoint[]
  /** For the minutes of a sparkline. */
  readonly samples: readonly GaugeSample[]
  /** In the last hour, the largest first. */
  readonly failures: readonly FailureGroup[]
  readonly rules: readonly AlertRuleRow[]
  /** Open ones, of jobs. */
  readonly questions: number
  /** Those that have not ended. */
  readonly bulkOperations: readonly BulkOperationRow[]
  readonly alerts: { readonly firing: number; readonly acked: number; readonly snoozed: number }
}

type Source = Pick<Store, 'countQuestions' | 'queues' | 'workers' | 'activity' | 'gauges' | 'failures'>
type People = Pick<Control, 'alertRules' | 'alerts' | 'bulkOperations'>

/** The facts that are cached. */
interface Slow extends Pick<Facts, 'activity' | 'samples' | 'failures' | 'rules'> {
  /** The end of the cached activity. */
  readonly until: Date
}

/** Reads the facts in a fixed number of statements, however many queues there are. */
export class FactReader {
  readonly #store: Source
  readonly #control: People
  readonly #slow: TtlCache<Slow>

  constructor(store: Source, control: People, runtime?: Runtime) {
    this.#slow = new TtlCache(SLOW_MS, 1, runtime)
    this.#store = store
    this.#control = control
  }

  async read(): Promise<Facts> {
    const store = this.#store
    const { at: now, count: questions } = await store.countQuestions()
    const { until, activity: before, ...slow } = await this.#slow.get('', () => this.#readSlow(now))
    const [load, recent, alerts, bulkOperations] = await Promise.all([
      readLoad(store),
      store.activity({ from: until, to: lastHour(now).to }),
      this.#control.alerts.counts(),
      this.#control.bulkOperations.underWay(BULK_OPERATIONS),
    ])
    return {
      now,
      questions,
      ...load,
      ...slow,
      activity: [...before, ...recent].filter(isTheirs),
      alerts,
      bulkOperations,
    }
  }

  async #readSlow(now: Date): Promise<Slow> {
    const store = this.#store
    const anHourAgo = new Date(now.getTime() - HOUR_MS)
    const sparkFrom = new Date(now.getTime() - SPARK_MINUTES * MINUTE_MS)
    // The previous minute may still grow: a settle counts in the minute in which it began.
    const until = new Date(minuteOf(now).getTime() - MINUTE_MS)
    const [activity, samples, failures, rules] = await Promise.all([
      store.activity({ from: lastHour(now).from, to: until }),
      store.gauges.list({ from: sparkFrom, to: now }),
      store.failures({ since: anHourAgo, newSince: anHourAgo, sort: 'largest', limit: FAILURES }),
      this.#control.alertRules.list(),
    ])
    const ofOthers = failures.filter((group) => group.queues.some((queue) => isTheirs({ queue })))
    return { until, activity, samples, failures: ofOthers, rules }
  }
}

/** The queues' backlog, and the workers that serve them. */
export async function readLoad(
  store: Pick<Store, 'queues' | 'workers'>,
): Promise<Pick<Facts, 'queues' | 'own' | 'workers'>> {
  const [queues, workers] = await Promise.all([store.queues(), store.workers()])
  return {
    queues: queues.filter(isTheirs),
    own: queues.find((overview) => !isTheirs(overview)) ?? null,
    workers: workers.filter((worker) => worker.queues.some((queue) => isTheirs({ queue }))),
  }
}

const isTheirs = ({ queue }: { readonly queue: string }) => queue !== INTERNAL_QUEUE
