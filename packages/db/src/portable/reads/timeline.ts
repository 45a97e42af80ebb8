import type { JobSummary } from '@oncue/core'
import type { Timeline, TimelineEntry } from '@oncue/core/wire'
import type { EndedChildren, Spawned } from '../children.ts'
import type { OutcomeKind } from '../outcomes.ts'
import { type Fragment, q, raw, readAll, type Sql } from '../sql.ts'
import { summaryOf } from './jobs.ts'

const MAX_ENTRIES = 1_000

/** Bytes of JSON. A thousand results of steps may have a gigabyte. */
const MAX_DATA = 10_000

type Row = { readonly data: unknown; readonly size: number | null; readonly created: Date }
type OutcomeRow = Row & {
  readonly key: string
  readonly kind: Exclude<OutcomeKind, 'wait' | 'since'>
  readonly name: string | null
}
type EventRow = Row & { readonly type: string }
type AskRow = {
  readonly name: string
  readonly question: string
  readonly until: Date | null
  readonly created: Date
}

/** Row, outcomes, questions and events of a job as one story. */
export async function timeline(sql: Sql, id: string): Promise<Timeline | null> {
  const job = await summaryOf(sql, id)
  if (!job) return null
  const [outcomes, asks, events] = await Promise.all([
    readAll<OutcomeRow>(sql, outcomesStatement(sql.dialect, id), { data: 'json', created: 'time' }),
    readAll<AskRow>(sql, asksStatement(id), { until: 'time', created: 'time' }),
    readAll<EventRow>(sql, eventsStatement(sql.dialect, id), { data: 'json', created: 'time' }),
  ])
  const steps = new Set(outcomes.map(({ key }) => key))
  const finished = new Set(events.flatMap(finishedStep))
  const told = outcomes
    .reverse()
    .filter(({ key, kind }) => !finished.has(`${kind} ${key}`))
    .map(toEntry)
  const isAnswer = ({ kind }: TimelineEntry) => kind === 'answer' || kind === 'refused'
  // Of each source the newest, so that the newest of all have no gap. In one moment, a question comes before its answer.
  const past = [
    ...events
      .reverse()
      .filter((event) => !isTold(event, steps))
      .map(({ type, created, ...row }) => entry(created, 'event', { name: type, ...dataOf(row) })),
    ...told.filter((each) => !isAnswer(each)),
    ...asks
      .reverse()
      .map(({ name, question, until, created }) =>
        entry(created, 'asked', { name, until, data: { question } }),
      ),
    ...told.filter(isAnswer),
  ].sort((a, b) => a.at.getTime() - b.at.getTime())
  return {
    id: job.id,
    entries: [entry(job.created, 'created'), ...past.slice(-MAX_ENTRIES), ...endOf(job)],
    isComplete: [past, outcomes, asks, events].every(({ length }) => length <= MAX_ENTRIES),
  }
}

function entry(at: Date, kind: TimelineEntry['kind'], more: Partial<TimelineEntry> = {}): TimelineEntry {
  return { at, kind, name: null, by: null, until: null, data: null, size: null, ...more }
}

function toEntry(row: OutcomeRow): TimelineEntry {
  const { kind, created } = row
  const name = row.name ?? nameOf(row.key)
  const { data, size } = dataOf(row)
  switch (kind) {
    case 'timer':
      return entry(created, RETRY.test(row.key) ? 'retried' : 'slept', { name })
    case 'step':
      return entry(created, 'step', {
        name,
        size,
        data: (data as { result?: unknown } | null)?.result ?? null,
      })
    case 'undo':
    case 'undone':
      return entry(created, kind, { name })
    case 'answer':
    case 'refused': {
      const { by = null, key: _, ...given } = (data ?? {}) as { by?: string; key?: string; value?: unknown }
      return entry(created, kind, { name, by, size, data: data && given })
    }
    case 'spawn': {
      const jobs = Object.entries((data ?? {}) as Spawned).map(([key, [id]]) => ({ name: nameOf(key), id }))
      return entry(created, 'spawned', { size, data: data && { jobs } })
    }
    case 'children': {
      const failed = (data as EndedChildren | null)?.failed.map(([id, status]) => ({ id, status }))
      return entry(created, kind, { size, data: failed ? { failed } : null })
    }
    default:
      return entry(created, kind, { name, size, data })
  }
}

const dataOf = ({ data, size }: Omit<Row, 'created'>) => ({
  data,
  size: size !== null && Number(size) > MAX_DATA ? Number(size) : null,
})

const RETRY = /^(retry|undo_retry):/

/** `step:charge`, `sleep:settle`, `retry:charge#1`, `receive:bank#2` */
function nameOf(key: string): string {
  const name = key.slice(key.indexOf(':') + 1)
  return /^(receive|retry|undo_retry):/.test(key) ? name.replace(/#\d+$/, '') : name
}

/** The outcome of the plan, node or tool whose end this event tells: with its arguments before, it says more. */
function finishedStep({ type, data }: EventRow): string[] {
  const { name, error } = (data ?? {}) as { name?: unknown; error?: unknown }
  if (!FINISHED.has(type) || typeof name !== 'string') return []
  return [`${error === undefined ? 'step' : 'step_failed'} step:${name}`]
}

const FINISHED: ReadonlySet<string> = new Set(['plan_generated', 'node_finished', 'tool_returned'])

/** The outcome of a step or an undo says more than its event. */
function isTold({ type, data }: EventRow, keys: ReadonlySet<string>): boolean {
  const kind = type === 'step_finished' ? 'step' : type === 'undone' ? type : undefined
  return kind !== undefined && keys.has(`${kind}:${(data as { name?: string } | null)?.name}`)
}

function endOf({ status, finishedAt, waits }: JobSummary): TimelineEntry[] {
  if (finishedAt) return [entry(finishedAt, 'finished', { name: status })]
  return (waits?.for ?? []).map(({ kind, name, until }) =>
    entry(new Date(waits?.since ?? 0), 'waiting', {
      name,
      until: until === null ? null : new Date(until),
      data: { kind },
    }),
  )
}

/**
 * Data that is left out is not read: what is larger than that as it is stored, perhaps compressed, is larger in any case, and
 * both databases have that size beside the value.
 */
const SIZES = {
  postgres: `case when pg_column_size(data) > ${MAX_DATA} then pg_column_size(data) else octet_length(cast(data as text)) end`,
  sqlite: 'octet_length(data)',
}
const sized = (dialect: Sql['dialect']) =>
  raw(`case when ${SIZES[dialect]} <= ${MAX_DATA} then data end as data, ${SIZES[dialect]} as size, created`)
const NEWEST = raw(`limit ${MAX_ENTRIES + 1}`)

/** What it waited for is told by how that ended. */
export const outcomesStatement = (dialect: Sql['dialect'], id: string): Fragment =>
  q`select key, kind, name, ${sized(dialect)} from {outcomes} where job_id = ${id} and kind not in ('wait', 'since') order by seq desc ${NEWEST}`

export const eventsStatement = (dialect: Sql['dialect'], id: string): Fragment =>
  q`select type, ${sized(dialect)} from {events} where job_id = ${id} order by version desc ${NEWEST}`

const asksStatement = (id: string) =>
  q`select name, question, until, created from {asks} where job_id = ${id} order by created desc, name desc ${NEWEST}`
