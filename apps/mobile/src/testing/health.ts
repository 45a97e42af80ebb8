import type { Outputs } from '@oncue/sdk'

type Health = Outputs['health']['get']
type QueueHealth = Health['queues'][number]

export const NOW = new Date('2026-11-16T03:12:00Z')

const spark = (value = 0) => Array.from({ length: 30 }, () => value)

/** A queue with nothing wrong, unless told otherwise. */
export function queueOf(queue: string, differs: Partial<QueueHealth> = {}): QueueHealth {
  return {
    ...{
      queue,
      waiting: 0,
      scheduled: 0,
      running: 0,
      suspended: 0,
      blocked: 0,
      throttled: 0,
      oldestWaiting: null,
      paused: null,
    },
    ...{
      ageingMs: null,
      limit: null,
      state: 'ok',
      capacity: 10,
      throughput: 12,
      failureRate: 0,
      isRateJudged: true,
      drainMs: null,
    },
    ...{ failedLastHour: 0, spark: { throughput: spark(12), failureRate: spark(), waiting: spark() } },
    ...differs,
  }
}

/** A calm night, unless told otherwise. */
export function healthOf(differs: Partial<Health> = {}): Health {
  return {
    ...{ now: NOW, dialect: 'sqlite', version: '0.0.0', environment: 'staging' },
    summary: { level: 'good', text: 'All good' },
    oldestWaiting: { value: null, spark: spark() },
    backlog: { value: 0, spark: spark() },
    throughput: { value: 12, spark: spark(12) },
    failureRate: { value: 0, spark: spark() },
    workers: { alive: 2, missing: 0, slots: 20, running: 1, spark: spark(2) },
    thresholds: { oldestWaitingSeconds: 300, failureRate: 0.1 },
    queues: [queueOf('default'), queueOf('mail')],
    others: {
      queues: 0,
      waiting: 0,
      scheduled: 0,
      running: 0,
      suspended: 0,
      blocked: 0,
      throttled: 0,
      oldestWaiting: null,
    },
    delivery: { waiting: 0, oldestWaiting: null, paused: null, limit: null },
    failures: [],
    alerts: { firing: 0, acked: 0, snoozed: 0 },
    questions: 0,
    bulkOperations: [],
    ...differs,
  }
}
