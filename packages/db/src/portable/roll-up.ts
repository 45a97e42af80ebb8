import { fieldOf } from '../job-columns.ts'
import type { Steps } from '../queue/transaction.ts'
import {
  type Fragment,
  fieldsOf,
  insertRows,
  q,
  raw,
  type Sql,
  toPostgres,
  toSqlite,
  type Value,
} from './sql.ts'
import {
  addCounts,
  addHistogram,
  addLetters,
  type Counts,
  emptyHistogram,
  type Histogram,
  noCounts,
} from './stats.ts'

/** How many deltas one roll-up takes. The transaction stays short; callers repeat the call while more are left. */
const LIMIT = 5_000

/** For how long minutes are kept; totals are kept for ever. */
const KEPT_MS = 90 * 24 * 60 * 60 * 1_000

/** Minutes before this one are deleted when these deltas are added. */
function keptSince(deltas: readonly Delta[]): Date {
  return new Date(Math.max(...deltas.map((delta) => delta.minute.getTime())) - KEPT_MS)
}

type Counted = Counts & { readonly queue: string; readonly topic: string }

/**
 * A change of the counters that a settle, or an action that removed finished jobs, left to be rolled up.
 * Durations are letters.
 */
export type Delta = Counted & { readonly minute: Date; waits: string; runs: string; runMs: number }

/** What happened in one minute: requeueing or pruning a job later does not change it. */
type MinuteRow = Counted & {
  readonly minute: Date
  readonly waits: Histogram
  readonly runs: Histogram
}

/** What is stored now, as a change. */
type TotalRow = Omit<Counted, 'retried'> & { runs: number; runMs: number }

/**
 * In the key space of two numbers, which presence does not use: the first is the oid of a table of this
 * installation.
 */
const LOCK = raw(`select pg_advisory_xact_lock('oncue.stats'::regclass::int, 0)`)

const SAVE_MINUTE = `on conflict (minute, queue, topic) do update set completed = excluded.completed,
  failed = excluded.failed, cancelled = excluded.cancelled, retried = excluded.retried, waits = excluded.waits,
  runs = excluded.runs`

const ADD_TO_TOTAL = `on conflict (queue, topic) do update set completed = t.completed + excluded.completed,
  failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
  runs = t.runs + excluded.runs, run_ms = t.run_ms + excluded.run_ms`

/**
 * Rolls deltas up into the statistics; returns how many. Two at once are safe: on Postgres the lock makes the second
 * wait, and it then reads what the first wrote. Only the holder of the lock writes the two tables.
 */
export function* rollUpSteps(sql: Sql): Steps<number> {
  const isPostgres = sql.dialect === 'postgres'
  const step = (statement: Fragment, reads = false) => {
    return { ...(isPostgres ? toPostgres(statement) : toSqlite(statement)), reads }
  }
  if (isPostgres) yield step(LOCK, true)
  const taken = yield step(TAKE, true)
  if (taken.length === 0) return 0
  const deltas = taken.map((row) => fieldsOf<Delta>(sql, row, { minute: 'time' }))
  const { minutes, totals } = sumUp(deltas)
  const known = yield step(knownMinutes(sql.dialect, minutes), true)
  const kinds = { minute: 'time', waits: 'json', runs: 'json' } as const
  addKnown(
    minutes,
    known.map((row) => fieldsOf(sql, row, kinds)),
  )
  for (const statement of [
    ...insertRows('{stats}', MINUTES, minutes.map(valuesOf(MINUTES)), SAVE_MINUTE),
    ...insertRows('{totals} as t', TOTALS, totals.map(valuesOf(TOTALS)), ADD_TO_TOTAL),
    q`delete from {stats} where minute < ${keptSince(deltas)}`,
  ])
    yield step(statement)
  return deltas.length
}

const MINUTES = 'minute, queue, topic, completed, failed, cancelled, retried, waits, runs'
const TOTALS = 'queue, topic, completed, failed, cancelled, runs, run_ms'

const TAKE = q`delete from {stat_deltas} where id in (select id from {stat_deltas} limit ${LIMIT})
  returning ${raw(MINUTES)}, run_ms`

function knownMinutes(dialect: Sql['dialect'], minutes: readonly MinuteRow[]): Fragment {
  const keys = (timeOf: (minute: Date) => unknown) =>
    JSON.stringify(minutes.map(({ minute, queue, topic }) => ({ minute: timeOf(minute), queue, topic })))
  const wanted =
    dialect === 'postgres'
      ? q`json_to_recordset(${keys((minute) => minute)}::json) as k(minute timestamptz, queue text, topic text)`
      : q`(select value ->> 'minute' as minute, value ->> 'queue' as queue, value ->> 'topic' as topic
          from json_each(${keys((minute) => minute.getTime())})) k`
  return q`select s.* from ${wanted}
    join {stats} s on s.minute = k.minute and s.queue = k.queue and s.topic = k.topic`
}

const valuesOf =
  (columns: string) =>
  (row: MinuteRow | TotalRow): Value[] => {
    const fields: Readonly<Record<string, Value | Histogram>> = row
    return columns.split(', ').map((column) => {
      const value = fields[fieldOf(column)] ?? null
      return Array.isArray(value) ? histogramJson(value) : value
    })
  }

/** As it is stored: without the empty buckets at the end. */
function histogramJson(histogram: Histogram): string {
  return JSON.stringify(histogram.slice(0, 1 + histogram.findLastIndex((count) => count > 0)))
}

type Sums = { readonly minutes: MinuteRow[]; readonly totals: TotalRow[] }

function sumUp(deltas: readonly Delta[]): Sums {
  const minutes = new Map<string, MinuteRow>()
  const totals = new Map<string, TotalRow>()
  for (const delta of deltas) {
    addToTotal(totals, delta)
    const { completed, failed, cancelled, retried } = delta
    if (completed > 0 || failed > 0 || cancelled > 0 || retried > 0) addToMinute(minutes, delta)
  }
  return { minutes: [...minutes.values()], totals: [...totals.values()] }
}

function addToTotal(totals: Map<string, TotalRow>, delta: Delta): void {
  const { queue, topic } = delta
  const total = at(totals, [queue, topic], () => {
    return { queue, topic, completed: 0, failed: 0, cancelled: 0, runs: 0, runMs: 0 }
  })
  total.completed += delta.completed
  total.failed += delta.failed
  total.cancelled += delta.cancelled
  total.runs += delta.runs.length
  total.runMs += delta.runMs
}

function addToMinute(minutes: Map<string, MinuteRow>, delta: Delta): void {
  const { minute, queue, topic } = delta
  const row = at(minutes, [minute.getTime(), queue, topic], () => {
    return { minute, queue, topic, ...noCounts(), waits: emptyHistogram(), runs: emptyHistogram() }
  })
  addCounts(row, delta)
  addLetters(row.waits, delta.waits)
  addLetters(row.runs, delta.runs)
}

/** Adds the stored counts to the minutes that are about to replace them. */
function addKnown(minutes: readonly MinuteRow[], known: readonly MinuteRow[]): void {
  const rows = new Map(minutes.map((row) => [keyOf(row), row]))
  for (const old of known) {
    const row = rows.get(keyOf(old))
    if (!row) continue
    addCounts(row, old)
    addHistogram(row.waits, old.waits)
    addHistogram(row.runs, old.runs)
  }
}

const keyOf = ({ minute, queue, topic }: MinuteRow) => JSON.stringify([minute.getTime(), queue, topic])

function at<T>(map: Map<string, T>, key: unknown[], make: () => T): T {
  const text = JSON.stringify(key)
  const found = map.get(text) ?? make()
  map.set(text, found)
  return found
}
