import { type AlertKind, FAILURE_MIN_RUNS, FAILURE_WINDOW_MS, STALL_WINDOW_MS } from '@oncue/core/wire'
import type { AlertRuleRow } from '@oncue/db'
import { formatCount, formatDuration, formatPercent } from '../health/format.ts'
import type { Facts, QueueFacts, Staffing } from './facts.ts'

/**
 * The state of a condition. Between holding and being clearly false it neither fires nor resolves an alert, so that a value
 * near its limit does not flap.
 */
export interface Reading {
  readonly state: 'holds' | 'between' | 'clear'
  /** In the unit of its kind. */
  readonly value: number
  /** Only if it holds. */
  readonly summary: string
}

const CLEAR: Reading = { state: 'clear', value: 0, summary: '' }

/** Below this share of its limit a value is clearly below it. */
const CLEARLY = 0.9

/** Queue null: about the whole installation, which only `no_workers` can be. */
export function readCondition(
  { kind, threshold }: Pick<AlertRuleRow, 'kind' | 'threshold'>,
  queue: string | null,
  { now, whole, queues }: Facts,
): Reading {
  if (queue === null) return kind === 'no_workers' ? noWorkers(whole, threshold, '') : CLEAR
  const facts = queues.get(queue)
  return facts ? CONDITIONS[kind](facts, threshold, `${queue}: `, now) : CLEAR
}

/** What a rule is about, and its state. */
export interface Subject {
  /** Null: the whole installation. */
  readonly queue: string | null
  readonly reading: Reading
  /** The queues for which it holds, at most 100, the worst ones. */
  readonly heldFor: readonly string[]
}

/**
 * A rule about every queue has one alert, which names the worst queue: otherwise a producer could cause any number of alerts by
 * inventing queues. Null: the rule applies to no existing queue.
 */
export function readRule(
  rule: Pick<AlertRuleRow, 'kind' | 'threshold' | 'queue'>,
  facts: Facts,
): Subject | null {
  const read = (queue: string | null): Subject => {
    const reading = readCondition(rule, queue, facts)
    return { queue, reading, heldFor: queue !== null && reading.state === 'holds' ? [queue] : [] }
  }
  if (rule.queue !== null) return facts.queues.has(rule.queue) ? read(rule.queue) : null
  if (rule.kind === 'no_workers') return read(null)
  const all = [...facts.queues.keys()].map(read)
  const [first, ...others] = all
  if (!first) return null
  const worst = others.reduce((a, b) => (isWorse(b.reading, a.reading) ? b : a), first)
  const holding = all.filter(({ reading: { state } }) => state === 'holds')
  const more = holding.length - 1
  if (more < 1) return worst
  const summary = `${worst.reading.summary}, and ${formatCount(more, 'other queue')}`
  const heldFor = holding
    .sort((a, b) => b.reading.value - a.reading.value)
    .slice(0, MAX_HELD_FOR)
    .flatMap(({ queue }) => queue ?? [])
    .sort()
  return { queue: worst.queue, reading: { ...worst.reading, summary }, heldFor }
}

/** The limit of names in an alert: a producer could invent any number of queues. */
const MAX_HELD_FOR = 100

const SEVERITY = { clear: 0, between: 1, holds: 2 } as const

function isWorse(a: Reading, b: Reading): boolean {
  return (SEVERITY[a.state] - SEVERITY[b.state] || a.value - b.value) > 0
}

const CONDITIONS: Readonly<
  Record<AlertKind, (facts: QueueFacts, threshold: number, name: string, now: Date) => Reading>
> = {
  // The jobs of a paused queue wait on purpose.
  oldest_waiting({ oldestWaiting, paused }, threshold, name, now) {
    if (!oldestWaiting || paused) return CLEAR
    const value = secondsSince(oldestWaiting, now)
    return reading(value > threshold, value, threshold, () => {
      return `${name}oldest job waits ${formatDuration(value * 1_000)} (limit ${formatDuration(threshold * 1_000)})`
    })
  },

  // Too few runs cannot show that runs fail; they can show that runs succeed.
  failure_rate({ ended: { failed, ran } }, threshold, name) {
    if (ran === 0) return CLEAR
    const value = failed / ran
    return reading(value >= threshold && ran >= FAILURE_MIN_RUNS, value, threshold, () => {
      const share = `${formatPercent(value)} of ${formatCount(ran, 'run')}`
      return `${name}${share} failed in ${formatDuration(FAILURE_WINDOW_MS)} (limit ${formatPercent(threshold)})`
    })
  },

  no_workers: noWorkers,

  stalled({ waiting, paused, isStill }, threshold, name) {
    if (paused || waiting === 0 || !isStill) return CLEAR
    return reading(
      waiting >= threshold,
      waiting,
      threshold,
      () => `${name}${wait(waiting)}, none finished for ${formatDuration(STALL_WINDOW_MS)}`,
    )
  },

  paused({ paused }, threshold, name, now) {
    if (!paused) return CLEAR
    const value = secondsSince(paused.at, now)
    return reading(value > threshold, value, threshold, () => {
      const by = paused.by === null ? '' : ` by ${paused.by}`
      return `${name}paused${by} for ${formatDuration(value * 1_000)} (limit ${formatDuration(threshold * 1_000)})`
    })
  },
}

/** Without waiting jobs and without work for a day, missing workers are no problem. */
function noWorkers({ workers, waiting, wasBusy }: Staffing, threshold: number, name: string): Reading {
  if (workers > threshold || (waiting === 0 && !wasBusy)) return CLEAR
  const none = name ? 'no workers' : 'No workers'
  const few = `${name ? 'only' : 'Only'} ${formatCount(workers, 'worker')}`
  const alive = `${workers === 0 ? none : few} ${workers === 1 ? 'is' : 'are'} alive`
  const limit = threshold > 0 ? ` (limit ${threshold})` : ''
  return {
    state: 'holds',
    value: workers,
    summary: `${name}${alive}${limit}${waiting > 0 ? `, ${wait(waiting)}` : ''}`,
  }
}

function reading(holds: boolean, value: number, threshold: number, summary: () => string): Reading {
  if (holds) return { state: 'holds', value, summary: summary() }
  return { state: value < threshold * CLEARLY ? 'clear' : 'between', value, summary: '' }
}

const secondsSince = (time: Date, now: Date) => (now.getTime() - time.getTime()) / 1_000
const wait = (jobs: number) => `${formatCount(jobs, 'job')} ${jobs === 1 ? 'waits' : 'wait'}`
