import type { Inputs, Outputs } from '@oncue/sdk'
import { count, date, duration, number } from '../../lib/format.ts'

export type BulkOperation = Outputs['bulkOperations']['get']
export type Action = BulkOperation['action']
export type Filter = Inputs['bulkOperations']['preview']['filter']

/** One verb each, from the button to the result. */
export const VERBS = {
  requeue: { verb: 'Retry', doing: 'Retrying', done: 'retried' },
  run_now: { verb: 'Run now', doing: 'Starting', done: 'started' },
  cancel: { verb: 'Cancel', doing: 'Cancelling', done: 'cancelled' },
  delete: { verb: 'Delete', doing: 'Deleting', done: 'deleted' },
} as const satisfies Record<Action, object>

/** "Retry 12 jobs", "Run 12 jobs now". */
export function phraseOf(action: Action, what: string): string {
  return action === 'run_now' ? `Run ${what} now` : `${VERBS[action].verb} ${what}`
}

/** Why a job was left alone, after "skipped 3". */
const REASONS: Readonly<Record<string, string>> = {
  ALREADY_DUE: 'already due',
  BLOCKED: 'they wait for other jobs',
  BUSY: 'being claimed by a worker',
  CHANGED: 'changed in the meantime',
  FINISHED: 'already finished',
  FORBIDDEN: 'only an admin may do this',
  HAS_DEPENDANTS: 'other jobs wait for them',
  INVALID_STATE: 'only waiting and failed jobs can be deleted',
  JOB_NOT_FOUND: 'no longer there',
  PARENT_LIVE: 'their parent is live and uses their results',
  RUNNING: 'already running',
  SUSPENDED: 'they wait for a signal, an answer, a time or their children',
  UNDOING: 'they are being undone',
  THROTTLED: 'they wait for a slot of their concurrency key',
  UNIQUE_KEY_LIVE: 'another job holds the same unique key',
}

/** What the server leaves alone, of those that are neither finished nor about to run: by the action. */
const LEFT_ALONE: Readonly<Record<Action, readonly ('suspended' | 'undoing')[]>> = {
  requeue: ['suspended', 'undoing'],
  run_now: ['suspended'],
  cancel: ['undoing'],
  delete: ['suspended', 'undoing'],
}

/** Of jobs by their state, how many an action skips because they are suspended or being undone. */
export function leftAloneOf(action: Action, byState: Readonly<Record<string, number>>): number {
  return LEFT_ALONE[action].reduce((sum, state) => sum + (byState[state] ?? 0), 0)
}

/** "2 are suspended and are skipped." Null: none is. */
export function leftAloneInWords(
  action: Action,
  byState: Readonly<Record<string, number>>,
  isAll = true,
): string | null {
  const parts = LEFT_ALONE[action].flatMap((state) => {
    const here = byState[state] ?? 0
    const what =
      state === 'suspended' ? 'waiting for a signal, an answer, a time or children' : 'being undone'
    return here > 0 ? [`${number(here)} ${here === 1 ? 'is' : 'are'} ${what}`] : []
  })
  if (parts.length === 0) return null
  const many = leftAloneOf(action, byState)
  return `${isAll ? '' : 'At least '}${parts.join(' and ')}, and ${many === 1 ? 'is' : 'are'} skipped.`
}

/** A job that could not be requeued is waiting or running already: all other states can be. */
export function reasonInWords(reason: string, action: Action): string {
  if (reason === 'INVALID_STATE' && action === 'requeue') return 'already waiting or running'
  if (reason === 'INVALID_STATE' && action === 'cancel') return 'already finished'
  return REASONS[reason] ?? reason.toLowerCase().replaceAll('_', ' ')
}

export function skippedOf({ skipped }: Pick<BulkOperation, 'skipped'>): number {
  return Object.values(skipped).reduce((sum, many) => sum + many, 0)
}

export type Progress = Pick<
  BulkOperation,
  'action' | 'status' | 'done' | 'skipped' | 'total' | 'totalIsExact'
>
type Outcome = Progress & Partial<Pick<BulkOperation, 'canary' | 'error' | 'outcomes'>>

/** It has not ended. */
export function isGoingOn({ status }: Pick<BulkOperation, 'status'>): boolean {
  return status === 'running' || status === 'canary'
}

/** "retried 309, skipped 3 (already waiting or running)". */
export function outcomeInWords({ action, done, skipped }: Outcome): string {
  const parts = [`${VERBS[action].done} ${number(done)}`]
  const reasons = Object.entries(skipped)
  if (reasons.length === 1)
    parts.push(...reasons.map(([why, many]) => `skipped ${number(many)} (${reasonInWords(why, action)})`))
  else if (reasons.length > 1) parts.push(`skipped ${number(skippedOf({ skipped }))}`)
  return parts.join(', ')
}

/** "312", or "at least 100,000" where the count was cut short. */
export function many(total: number, isExact: boolean): string {
  return `${isExact ? '' : 'at least '}${number(total)}`
}

/** All jobs were put back, which says nothing about how their runs ended. */
export function hasFailedAgain({ status, outcomes }: Pick<Outcome, 'status' | 'outcomes'>): boolean {
  return status === 'completed' && (outcomes?.failedAgain ?? 0) > 0
}

/** The page's headline: what is running, or how it ended. */
export function headlineOf(operation: Outcome): string {
  const { action, status, total, totalIsExact } = operation
  const jobs = `${many(total, totalIsExact)} ${total === 1 ? 'job' : 'jobs'}`
  switch (status) {
    case 'canary':
      return `Trying ${number(operation.canary?.count ?? operation.done)} of ${jobs} first`
    case 'running':
      return `${VERBS[action].doing} ${jobs}`
    case 'completed':
      if (hasFailedAgain(operation))
        return `${number(operation.outcomes?.failedAgain ?? 0)} of ${number(operation.done)} failed again`
      return capital(outcomeInWords(operation))
    case 'stopped':
      return `Stopped: ${operation.error?.message ?? `${outcomeInWords(operation)} of ${number(total)}`}`
    case 'failed':
      return `Failed: ${outcomeInWords(operation)} of ${number(total)}`
  }
}

/** "Retrying 225 of 5,000", in the bar on every screen. */
export function barInWords(operation: Progress): string {
  const { action, status, done, total, totalIsExact } = operation
  if (status === 'canary') return `Trying ${number(done)} of ${many(total, totalIsExact)} first`
  return `${VERBS[action].doing} ${number(done)} of ${many(total, totalIsExact)}`
}

type Outcomes = NonNullable<BulkOperation['outcomes']>

const BECAME: readonly (readonly [keyof Outcomes, string])[] = [
  ['completed', 'completed'],
  ['running', 'running'],
  ['failedAgain', 'failed again'],
  ['waiting', 'waiting'],
  ['cancelled', 'cancelled'],
]

/** "131 completed · 12 running · 27 failed again"; empty while nothing was touched. */
export function outcomesInWords(outcomes: Outcomes): string {
  return BECAME.filter(([name]) => outcomes[name] > 0)
    .map(([name, words]) => `${number(outcomes[name])} ${words}`)
    .join(' · ')
}

/** From 0 to 1. More jobs may be found than matched when it was started. */
export function progressOf(operation: Pick<BulkOperation, 'done' | 'skipped' | 'total' | 'status'>): number {
  if (operation.status === 'completed') return 1
  if (operation.total === 0) return 0
  return Math.min(1, (operation.done + skippedOf(operation)) / operation.total)
}

type Value = string | number | undefined

/** What each condition of a filter says, in this order. */
const CONDITIONS: Readonly<Record<string, (value: Value, error: ErrorOfFilter) => string>> = {
  queue: (queue) => `in “${queue}”`,
  topic: (topic) => `of “${topic}”`,
  fingerprint: (_, error) => `with ${error ? `${error.class} · ${error.message}` : 'the same error'}`,
  createdFrom: (at) => `created from ${dateOf(at)}`,
  createdTo: (at) => `created until ${dateOf(at)}`,
  idPrefix: (id) => `whose id begins with ${id}`,
  idSuffix: (id) => `whose id ends with ${id}`,
  errorText: (text) => `with “${text}” in the error`,
  payloadText: (text) => `with “${text}” in the payload`,
  meta: (meta) => `with ${JSON.stringify(meta)}`,
}

type ErrorOfFilter = BulkOperation['filterError'] | undefined

/** Which jobs: "failed jobs in mail with TypeError · no user". */
export function scopeOf(filter: Readonly<Record<string, unknown>>, error?: ErrorOfFilter): string {
  const states = [filter.status ?? []].flat().map(stateInWords).join(' and ')
  const conditions = Object.entries(CONDITIONS).map(
    ([name, inWords]) => filter[name] !== undefined && inWords(filter[name] as Value, error),
  )
  return [states, 'jobs', ...conditions].filter(Boolean).join(' ')
}

const stateInWords = (status: unknown) =>
  ({ pending: 'waiting', processing: 'running' })[String(status)] ?? String(status)

export function spreadInWords(seconds: number): string {
  return seconds === 0 ? 'at once' : `spread over ${duration(seconds * 1_000)}`
}

export const jobs = (total: number) => count(total, 'job')

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** Dates within a filter come back as text. */
function dateOf(value: unknown): string {
  const at = new Date(String(value))
  return Number.isNaN(at.getTime()) ? String(value) : date(at)
}
