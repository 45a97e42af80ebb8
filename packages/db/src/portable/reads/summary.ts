import type { Job, JobSummary } from '@oncue/core'
import { COLUMN_TYPES, type FieldIn, jobColumns, type NamedColumn, type Part } from '../../job-columns.ts'
import type { JobGlance } from '../../store.ts'
import type { Sql } from '../sql.ts'

/** A row of the lists below: times and JSON as the dialect returns them. */
export type SummaryRow = Readonly<Record<string, unknown>> & { readonly id: string }

type Reader<Fields> = {
  /** What to select of a live or a finished job `n`: the same names, so that the two can be united. */
  readonly live: string
  readonly finished: string
  readonly decode: (sql: Sql, row: SummaryRow) => Fields
}

/** For a part of a job's columns. */
function reader<P extends Part>(...parts: readonly P[]): Reader<Pick<Job, FieldIn<P> & keyof Job>> {
  return readerOf(jobColumns(...parts))
}

function readerOf<Fields>(columns: readonly NamedColumn[]): Reader<Fields> {
  const list = (table: 'jobs' | 'history') =>
    columns.map((column) => `${expression(column, table)} as ${column.name}`).join(', ')
  const fields = columns.map(({ name, field, type }) => ({ name, field, decode: DECODERS[type] ?? asIs }))
  return {
    live: list('jobs'),
    finished: list('history'),
    decode: (sql, row) => {
      const job: Record<string, unknown> = {}
      for (const { name, field, decode } of fields) job[field] = decode(sql, row[name])
      return job as Fields
    },
  }
}

function expression({ name, type, only, big, finished }: NamedColumn, table: 'jobs' | 'history'): string {
  if (finished && table === 'history') return finished
  if (only && only !== table) return `cast(null as ${COLUMN_TYPES[type].postgres})`
  if (big)
    return `coalesce(n.${name}, (select p.data from {payloads} p where p.job_id = n.id and p.part = '${big}'))`
  return type === 'status' ? `cast(n.${name} as text)` : `n.${name}`
}

const time = (sql: Sql, value: unknown) => sql.time(value)
const json = (sql: Sql, value: unknown) => sql.json(value)
const asIs = (_: Sql, value: unknown) => value
const DECODERS: Partial<Record<NamedColumn['type'], typeof asIs>> = { time, json, jsonb: json }

/** A job without payload and result, which may take a megabyte. */
export const SUMMARY: Reader<JobSummary> = reader('list')

const GLANCED = ['id', 'topic', 'status', 'run', 'run_at', 'progress', 'created', 'updated']

/** How a job is doing. */
export const GLANCE: Reader<JobGlance & Pick<Job, 'id'>> = readerOf(
  jobColumns().filter(({ name }) => GLANCED.includes(name)),
)

/** All of a job. */
export const WHOLE_JOB: Reader<Pick<Job, FieldIn<'list' | 'get'>>> = reader('list', 'get')
