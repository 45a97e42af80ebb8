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

/** The kinds of rules about queues. */
export type QueueKind = Exclude<AlertKind, 'new_error' | 'topic_failure_rate'>

const CLEAR: Reading = { state: 'clear', value: 0, summary: '' }

/** Below this share of its limit a value is clearly below it. */
const CLEARLY = 0.9

/** Queue null: about the whole installation, which only `no_workers` can be. */
export function readCondition(
  { kind, threshold }: { readonly kind: QueueKind; readonly threshold: number },
  queue: string | null,
  { now, whole, queues }: Pick<Facts, 'now' | 'whole' | 'queues'>,
): Reading {
  if (queue === null) return kind === 'no_workers' ? noWorkers(whole, threshold, '') : CLEAR
  const facts = queues.get(queue)
  return facts ? CONDITIONS[kind](facts, threshold, `${queue}: `, now) : CLEAR
}

/** What a rule is about, and its state. */
export interface Subject {
  /** Null: the whole installation. */
  readonly queue: string | null
  readonly topic: string | null
  readonly fingerprint: string | null
  readonly reading: Reading
  /** The queues, or the fingerprints of errors, for which it holds: at most 100, the worst ones. */
  readonly heldFor: readonly string[]
  /** The condition holds, but only for queues that a graver alert already covers. */
  readonly isExplained: boolean
}

type Rule = Pick<AlertRuleRow, 'kind' | 'threshold' | 'queue' | 'topic'>

const NO_QUEUE: ReadonlySet<string> = new Set()

/**
 * A rule about every queue has one alert, which names the worst queue: otherwise a producer could cause any number of alerts by
 * inventing queues. Null: the rule applies to no existing queue. A queue that is explained by a graver alert does not count.
 */
export function readRule(
  rule: Rule,
  facts: Facts,
  explained: ReadonlySet<string> = NO_QUEUE,
): Subject | null {
  const { kind, threshold } = rule
  if (kind === 'new_error') return readNewErrors(rule, facts)
  if (kind === 'topic_failure_rate') return readTopic(rule, facts)
  const read = (queue: string | null): Subject => {
    const real = readCondition({ kind, threshold }, queue, facts)
    const isExplained = queue !== null && explained.has(queue) && real.state !== 'clear'
    const reading = isExplained ? CLEAR : real
    const heldFor = queue !== null && reading.state === 'holds' ? [queue] : []
    return { queue, topic: null, fingerprint: null, reading, heldFor, isExplained }
  }
  if (rule.queue !== null) return facts.queues.has(rule.queue) ? read(rule.queue) : null
  if (kind === 'no_workers') {
    const whole = read(null)
    return whole.reading.state === 'holds' ? whole : readUnserved(facts)
  }
  const all = [...facts.queues.keys()].map(read)
  const [first, ...others] = all
  if (!first) return null
  const worst = others.reduce((a, b) => (isWorse(b.reading, a.reading) ? b : a), first)
  const holding = all.filter(({ reading: { state } }) => state === 'holds')
  const more = holding.length - 1
  if (more < 1) return { ...worst, isExplained: more < 0 && all.some(({ isExplained }) => isExplained) }
  const summary = `${worst.reading.summary}, and ${formatCount(more, 'other queue')}`
  const heldFor = holding
    .sort((a, b) => b.reading.value - a.reading.value)
    .slice(0, MAX_HELD_FOR)
    .flatMap(({ queue }) => queue ?? [])
    .sort()
  return { ...worst, reading: { ...worst.reading, summary }, heldFor }
}

const ofWhole = (reading: Reading): Subject => ({
  ...{ queue: null, topic: null, fingerprint: null, reading, heldFor: [], isExplained: false },
})

/** Queues with waiting jobs that no worker serves, the largest backlog first. The jobs of a paused queue wait on purpose. */
export function unservedQueues({ queues }: Pick<Facts, 'queues'>): string[] {
  return [...queues]
    .filter(([, { workers, waiting, paused }]) => workers === 0 && waiting > 0 && !paused)
    .sort(([a, { waiting: ofA }], [b, { waiting: ofB }]) => ofB - ofA || (a < b ? -1 : 1))
    .map(([queue]) => queue)
}

/** Some workers are alive, but none serves these queues: one alert for all of them. */
function readUnserved(facts: Facts): Subject {
  const unserved = unservedQueues(facts)
  const [worst] = unserved
  if (worst === undefined) return ofWhole(CLEAR)
  const waiting = unserved.reduce((sum, queue) => sum + (facts.queues.get(queue)?.waiting ?? 0), 0)
  const isOne = unserved.length === 1
  const summary = `No worker serves ${isOne ? worst : `${unserved.length} queues: ${named(unserved)}`}`
  return {
    ...ofWhole({ state: 'holds', value: 0, summary: `${summary}${isOne ? ',' : ';'} ${wait(waiting)}` }),
    queue: worst,
    heldFor: unserved.slice(0, MAX_HELD_FOR).sort(),
  }
}

/** `a, b, c and 2 more` */
function named(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return more > 0 ? `${names.slice(0, MAX_NAMED).join(', ')} and ${more} more` : names.join(', ')
}
const MAX_NAMED = 5

/** Without the error's message: it may quote a payload. */
function readNewErrors({ threshold, queue }: Rule, { newErrors }: Facts): Subject {
  const found = (newErrors.get(threshold) ?? []).filter(
    (error) => queue === null || error.queues.includes(queue),
  )
  const [worst] = found
  if (!worst) return ofWhole(CLEAR)
  const more = found.length - 1
  const others = more > 0 ? `, and ${formatCount(more, 'other error')}` : ''
  const summary = `${worst.topics[0] ?? ''}: new error ${worst.class}, not seen for ${formatCount(threshold, 'day')}${others}`
  return {
    ...ofWhole({ state: 'holds', value: found.length, summary }),
    queue: queue ?? worst.queues[0] ?? null,
    topic: worst.topics[0] ?? null,
    fingerprint: worst.fingerprint,
    heldFor: found.slice(0, MAX_HELD_FOR).map(({ fingerprint }) => fingerprint),
  }
}

function readTopic({ threshold, topic }: Rule, { topics }: Facts): Subject {
  const ended = topics.get(topic ?? '') ?? { failed: 0, ran: 0 }
  return { ...ofWhole(failing(ended, threshold, `${topic}: `)), topic }
}

/** The limit of names in an alert: a producer could invent any number of queues. */
export const MAX_HELD_FOR = 100

const SEVERITY = { clear: 0, between: 1, holds: 2 } as const

function isWorse(a: Reading, b: Reading): boolean {
  return (SEVERITY[a.state] - SEVERITY[b.state] || a.value - b.value) > 0
}

const CONDITIONS: Readonly<
  Record<QueueKind, (facts: QueueFacts, threshold: number, name: string, now: Date) => Reading>
> = {
  // The jobs of a paused queue wait on purpose.
  oldest_waiting({ oldestWaiting, paused }, threshold, name, now) {
    if (!oldestWaiting || paused) return CLEAR
    const value = secondsSince(oldestWaiting, now)
    return reading(value > threshold, value, threshold, () => {
      return `${name}oldest job waits ${formatDuration(value * 1_000)} (limit ${formatDuration(threshold * 1_000)})`
    })
  },

  failure_rate: ({ ended }, threshold, name) => failing(ended, threshold, name),

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

/** Too few runs cannot show that runs fail; they can show that runs succeed. */
function failing({ failed, ran }: QueueFacts['ended'], threshold: number, name: string): Reading {
  if (ran === 0) return CLEAR
  const value = failed / ran
  return reading(value >= threshold && ran >= FAILURE_MIN_RUNS, value, threshold, () => {
    const share = `${formatPercent(value)} of ${formatCount(ran, 'run')}`
    return `${name}${share} failed in ${formatDuration(FAILURE_WINDOW_MS)} (limit ${formatPercent(threshold)})`
  })
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
