import type { NewJob } from '@oncue/core'
import { enqueuedColumns } from '../../job-columns.ts'
import { isInline } from '../../portable/enqueue.ts'
import type { Statement } from '../../queue/transaction.ts'
import { NOTE_META } from '../sql-meta.ts'

/** A job as it enters the live table. */
export type Draft = {
  readonly job: NewJob
  readonly status: 'pending' | 'blocked'
  readonly runAt: number
  readonly visibleAt: number | null
  readonly depsLeft: number
}

/** How many jobs one insert carries: up to 32 values each, of SQLite's 32,766. */
const ENQUEUE_CHUNK = 1_000

type Column = { readonly name: string; readonly of: (draft: Draft) => string | number | null }

const COLUMNS: readonly Column[] = [
  { name: 'status', of: (draft) => draft.status },
  { name: 'run_at', of: (draft) => draft.runAt },
  { name: 'visible_at', of: (draft) => draft.visibleAt },
  { name: 'deps_left', of: (draft) => draft.depsLeft },
  ...enqueuedColumns().map(({ name, enqueue }): Column => ({ name, of: ({ job }) => enqueue(job) })),
]

/** A job that nothing holds back. */
export function plainDraft(job: NewJob, now: number): Draft {
  const runAt = job.runAt?.getTime() ?? now + job.delayMs
  return { job, status: 'pending', runAt, visibleAt: runAt, depsLeft: 0 }
}

/** The inserts for any number of jobs, for those of their payloads that are not kept inline, and for their meta. */
export function insertJobs(drafts: readonly Draft[], now: number): Statement[] {
  const statements: Statement[] = []
  for (let i = 0; i < drafts.length; i += ENQUEUE_CHUNK) {
    const chunk = drafts.length <= ENQUEUE_CHUNK ? drafts : drafts.slice(i, i + ENQUEUE_CHUNK)
    statements.push(insertChunk(chunk, now))
    const big = chunk.filter(({ job }) => !isInline(job.payload))
    for (const { job } of big) statements.push(insertPayload(job.id, job.payload))
    const withMeta = chunk.filter(({ job }) => job.meta !== null).map(({ job }) => job.id)
    if (withMeta.length > 0) statements.push({ text: NOTE_META, values: [JSON.stringify(withMeta)] })
  }
  return statements
}

export function insertPayload(id: string, payload: string): Statement {
  return { text: INSERT_PAYLOAD, values: [id, payload] }
}

const INSERT_PAYLOAD = `INSERT INTO oncue_payloads (job_id, part, data) VALUES (?, 'payload', ?)`

/**
 * Binding a value costs about as much as storing it. So a column that is null in every row is left
 * out, and one in which all rows agree (queue, topic, times …) is bound once.
 */
function insertChunk(drafts: readonly Draft[], now: number): Statement {
  const [first] = drafts
  const shared: string[] = ['created', 'updated']
  const values: unknown[] = [now, now]
  const varying: Column[] = []
  for (const column of COLUMNS) {
    const value = first ? column.of(first) : null
    if (drafts.some((draft) => column.of(draft) !== value)) varying.push(column)
    else if (value !== null) {
      shared.push(column.name)
      values.push(value)
    }
  }
  for (const draft of drafts) for (const { of } of varying) values.push(of(draft))
  const names = varying.map((column) => column.name)
  return { text: insertText(shared, names, drafts.length), values }
}

/** The text of a thousand rows takes longer to write than to look up. */
const texts = new Map<string, string>()

function insertText(shared: readonly string[], varying: readonly string[], rows: number): string {
  const shape = `${shared.join()} ${varying.join()} ${rows}`
  let text = texts.get(shape)
  if (text === undefined) {
    text = writeInsert(shared, varying, rows)
    if (texts.size > 100) texts.clear()
    texts.set(shape, text)
  }
  return text
}

function writeInsert(shared: readonly string[], varying: readonly string[], rows: number): string {
  const into = `INSERT INTO oncue_jobs (${[...shared, ...varying].join(', ')})`
  // One job: everything is shared.
  if (varying.length === 0) return `${into} VALUES (${marks(shared.length)})`
  const source = `(SELECT ${shared.map((name) => `? AS ${name}`).join(', ')}) AS c`
  const row = `(${marks(varying.length)})`
  const columns = [...shared.map((name) => `c.${name}`), ...varying.map((_, i) => `v.column${i + 1}`)]
  return `${into} SELECT ${columns.join(', ')} FROM ${source}, (VALUES ${Array(rows).fill(row).join(', ')}) AS v`
}

function marks(count: number): string {
  return Array(count).fill('?').join(', ')
}
