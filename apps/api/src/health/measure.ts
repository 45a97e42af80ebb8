import {
  FAILURE_MIN_RUNS,
  type Health,
  MAX_HEALTH_QUEUES,
  QUEUE_STATES,
  type QueueHealth,
  SPARK_MINUTES,
} from '@oncue/core/wire'
import { type FailureGroup, type QueueOverview, timeToDrain } from '@oncue/db'
import { Ended } from './ended.ts'
import type { Facts } from './facts.ts'
import { gaugeIn, type Spark, sampleGauges, sparkOf } from './gauge-samples.ts'
import { FAILURE_MINUTES, stateOf, THROUGHPUT_MINUTES, thresholdsOf } from './queue-state.ts'
import { summarize } from './summary.ts'
import { WorkerCapacity } from './worker-capacity.ts'

const TOP_FAILURES = 5
/** Enough to recognise a failure; its group has the whole message. */
const MESSAGE_LENGTH = 200
const MAX_NAMES = 20

/** The states of a live job. */
export const BACKLOG = ['waiting', 'scheduled', 'running', 'suspended', 'blocked', 'throttled'] as const

/** Computes health from the facts. */
export function measure(facts: Facts): Omit<Health, 'dialect' | 'version' | 'environment'> {
  const { now, workers, activity } = facts
  const whole = new Ended()
  for (const point of activity) whole.add(point, now)
  const latest = sampleGauges(now, facts.queues, workers)
  const spark = sparkOf(latest, facts.samples)
  const queues = measureQueues(facts, spark)
  const { waiting = 0, oldestWaiting = null, paused = null, limit = null } = facts.own ?? {}
  const delivery = { waiting, oldestWaiting, paused, limit }
  return {
    now,
    summary: summarize({ now, queues, workersAlive: latest.whole.workers, delivery }),
    oldestWaiting: {
      value: oldestOf(facts.queues),
      spark: spark((sample) => Math.trunc(sample.whole.oldestMs / 1_000)),
    },
    backlog: { value: latest.whole.waiting, spark: spark((sample) => sample.whole.waiting) },
    throughput: { value: rounded(whole.throughput(THROUGHPUT_MINUTES, now)), spark: throughputs(whole, now) },
    failureRate: { value: whole.failureRate(FAILURE_MINUTES), spark: failureRates(whole) },
    workers: {
      alive: latest.whole.workers,
      missing: workers.length - latest.whole.workers,
      slots: latest.whole.slots,
      running: workers.reduce((sum, { running }) => sum + running, 0),
      spark: spark((sample) => sample.whole.workers),
    },
    thresholds: thresholdsOf(facts.rules),
    queues: queues.slice(0, MAX_HEALTH_QUEUES),
    others: together(queues.slice(MAX_HEALTH_QUEUES)),
    delivery,
    failures: facts.failures.slice(0, TOP_FAILURES).map(shortened),
    alerts: facts.alerts,
    questions: facts.questions,
    bulkOperations: facts.bulkOperations.map(({ actor: { id, name }, ...operation }) => ({
      ...operation,
      by: { id, name },
    })),
  }
}

/** The worst state first, then the longest wait. */
function measureQueues(facts: Facts, spark: Spark): QueueHealth[] {
  const { now, queues, workers, activity, rules } = facts
  const endedOf = new Map(queues.map(({ queue }) => [queue, new Ended()]))
  for (const point of activity) endedOf.get(point.queue)?.add(point, now)
  const capacities = new WorkerCapacity(workers, now)
  const measured = queues.map((overview): QueueHealth => {
    const { queue } = overview
    const ended = endedOf.get(queue) ?? new Ended()
    const { slots: capacity } = capacities.of(queue)
    const thresholds = thresholdsOf(rules, queue)
    return {
      ...overview,
      state: stateOf({ overview, ended, capacity, thresholds, now }),
      capacity,
      throughput: rounded(ended.throughput(THROUGHPUT_MINUTES, now)),
      drainMs: overview.paused ? null : timeToDrain(overview, facts.samples, now),
      failureRate: ended.failureRate(FAILURE_MINUTES),
      isRateJudged: ended.last(FAILURE_MINUTES).ran >= FAILURE_MIN_RUNS,
      failedLastHour: ended.lost.reduce((sum, count) => sum + count, 0),
      spark: {
        throughput: throughputs(ended, now),
        failureRate: failureRates(ended),
        waiting: spark((sample) => gaugeIn(sample, queue).waiting),
      },
    }
  })
  return measured.sort(byTrouble)
}

function byTrouble(a: QueueHealth, b: QueueHealth): number {
  const since = ({ oldestWaiting }: QueueHealth) => oldestWaiting?.getTime() ?? Number.MAX_SAFE_INTEGER
  return (
    QUEUE_STATES.indexOf(a.state) - QUEUE_STATES.indexOf(b.state) ||
    since(a) - since(b) ||
    (a.queue < b.queue ? -1 : 1)
  )
}

function oldestOf(queues: readonly QueueOverview[]): Date | null {
  const times = queues.flatMap(({ oldestWaiting }) => oldestWaiting?.getTime() ?? [])
  return times.length > 0 ? new Date(Math.min(...times)) : null
}

function together(queues: readonly QueueOverview[]): Health['others'] {
  const sum = (state: (typeof BACKLOG)[number]) => queues.reduce((all, queue) => all + queue[state], 0)
  return {
    ...{ queues: queues.length, waiting: sum('waiting'), scheduled: sum('scheduled') },
    ...{ running: sum('running'), suspended: sum('suspended') },
    ...{ blocked: sum('blocked'), throttled: sum('throttled') },
    oldestWaiting: oldestOf(queues),
  }
}

function shortened({ firstSeen, trend, sample, ...group }: FailureGroup): Health['failures'][number] {
  const { topics, queues, message } = group
  return {
    ...group,
    topics: topics.slice(0, MAX_NAMES),
    queues: queues.slice(0, MAX_NAMES),
    message: message.slice(0, MESSAGE_LENGTH),
  }
}

/** What the number beside it was, minute by minute: measured over the same time. */
const throughputs = (ended: Ended, now: Date) =>
  minuteByMinute((ago) => rounded(ended.throughput(THROUGHPUT_MINUTES, now, ago)))

/** Likewise; 0 where nothing ran. */
const failureRates = (ended: Ended) =>
  minuteByMinute((ago) => Math.round((ended.failureRate(FAILURE_MINUTES, ago) ?? 0) * 10_000) / 10_000)

const minuteByMinute = (value: (ago: number) => number) =>
  Array.from({ length: SPARK_MINUTES }, (_, minute) => value(SPARK_MINUTES - 1 - minute))

const rounded = (value: number) => Math.round(value * 100) / 100
