import { type JobId, LIMITS, OncueError } from '@oncue/core'
import { assertText } from '@oncue/core/internal'
import type { Question, QuestionFilter } from '@oncue/core/wire'
import { isUuid } from '../uuid.ts'
import { type Fragment, q, raw, type Sql, timeOf } from './sql.ts'

/** A person's answer to a question of a live job. */
export type NewAnswer = {
  readonly id: JobId
  readonly name: string
  /** JSON text. */
  readonly value: string
  /** Who answers. */
  readonly by: string
  /** The same answer sent again, with the same key, changes nothing. */
  readonly key?: string | undefined
  /** Called with the open question, before anything is written: throws if the answer does not fit it. */
  readonly check?: ((question: Question) => void | Promise<void>) | undefined
}

/** What an answer is recorded as. */
type RecordedAnswer = { readonly value: unknown; readonly by: string; readonly key?: string }

/** `write` records the answer if the question is open, and returns whether it was. */
export async function answer(
  sql: Sql,
  given: NewAnswer,
  write: (data: string) => Promise<boolean>,
): Promise<void> {
  const { id, name, value, by, key, check } = given
  assertAnswer(given)
  const question = await openQuestion(sql, given)
  if (!question) return
  await check?.(question)
  const rest = JSON.stringify({ by, ...(key !== undefined && { key }) })
  if (await write(`{"value":${value},${rest.slice(1)}`)) return
  // Someone else was faster, or this was sent twice.
  if (!(await openQuestion(sql, given))) return
  throw new OncueError('ALREADY_ANSWERED', `The question ${JSON.stringify(name)} of job ${id} has changed`)
}

function assertAnswer({ id, name, by, key }: NewAnswer): void {
  if (!isUuid(id)) throw new OncueError('JOB_NOT_FOUND', `There is no job ${JSON.stringify(id)}`)
  const texts = [
    ['the name of a question', name, LIMITS.stepNameLength],
    ['the author of an answer', by, LIMITS.keyLength],
    ['the key of an answer', key ?? '-', LIMITS.keyLength],
  ] as const
  for (const [what, text, max] of texts) {
    if (typeof text !== 'string' || text === '' || text.length > max)
      throw new OncueError('INVALID_INPUT', `${what} must have 1 to ${max} characters`)
    assertText(text, what)
  }
}

type Row = {
  readonly id: string
  readonly name: string | null
  readonly topic: string
  readonly queue: string
  readonly question: string
  readonly schema: unknown
  readonly role: string
  readonly until: unknown
  readonly refused: string | null
  readonly created: unknown
}

type FoundRow = Row & {
  readonly live: unknown
  readonly closed: unknown
  readonly kind: string | null
  readonly data: unknown
}

const ASK = raw('a.name, a.question, a.schema, a.role, a.until, a.refused, a.created')

/** The open question; null: it has this very answer. Otherwise throws. */
async function openQuestion(sql: Sql, { id, name, value, by, key }: NewAnswer): Promise<Question | null> {
  const outcome = `ask:${name}`
  // One statement, so that a job that ends meanwhile is seen in one place; a live one first.
  const [row] = await sql.all<FoundRow>(
    q`select j.id, j.topic, j.queue, j.live, ${ASK}, a.closed, o.kind, o.data from (
  select id, topic, queue, 1 as live from {jobs} where id = ${id}
  union all select id, topic, queue, 0 from {history} where id = ${id}) j
left join {asks} a on a.job_id = j.id and a.name = ${name}
left join {outcomes} o on o.job_id = j.id and o.key = ${outcome}
order by j.live desc limit 1`,
  )
  const which = `the question ${JSON.stringify(name)} of job ${id}`
  if (!row) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
  if (row.kind === 'answer') {
    const answered = sql.json(row.data) as RecordedAnswer
    const isSame =
      key !== undefined &&
      answered.key === key &&
      answered.by === by &&
      JSON.stringify(answered.value) === JSON.stringify(JSON.parse(value))
    if (isSame) return null
    const details = { by: answered.by }
    throw new OncueError('ALREADY_ANSWERED', `${answered.by} has answered ${which}`, { details })
  }
  if (Number(row.live) !== 1)
    throw new OncueError('JOB_FINISHED', `Job ${id} has finished: ${which} was not answered`)
  if (row.kind === 'timeout')
    throw new OncueError('QUESTION_TIMED_OUT', `No one answered ${which} in time: its job went on without`)
  if (row.name === null || row.closed !== null)
    throw new OncueError('NOT_ASKED', `Job ${id} does not ask ${JSON.stringify(name)}`)
  return toQuestion(sql, row)
}

/** Open questions of live jobs, the oldest first. */
export async function questions(
  sql: Sql,
  { id, topic, limit = 100 }: QuestionFilter = {},
): Promise<Question[]> {
  if (id !== undefined && !isUuid(id)) return []
  const none: Fragment = raw('')
  const rows = await sql.all<Row>(
    q`select j.id, j.topic, j.queue, ${ASK} from {asks} a join {jobs} j on j.id = a.job_id
where a.closed is null ${id === undefined ? none : q`and a.job_id = ${id}`} ${topic === undefined ? none : q`and j.topic = ${topic}`}
order by a.created, a.job_id, a.name limit ${limit}`,
  )
  return rows.map((row) => toQuestion(sql, row))
}

/** Beyond it a person needs no exact number. */
const MAX_COUNT = 1_000

/** Open questions of live jobs. */
export async function countQuestions(sql: Sql): Promise<{ at: Date; count: number }> {
  const [row] = await sql.all<{ at: unknown; open: unknown }>(
    q`select ${sql.clock()} as at, (select count(*) from (
  select 1 from {asks} a join {jobs} j on j.id = a.job_id where a.closed is null limit ${MAX_COUNT}) o) as open`,
  )
  return { at: timeOf(sql, row?.at), count: Number(row?.open) }
}

function toQuestion(sql: Sql, row: Row): Question {
  const { id, topic, queue, question, refused } = row
  return {
    id,
    name: String(row.name),
    topic,
    queue,
    question,
    schema: sql.json(row.schema) as Question['schema'],
    role: row.role as Question['role'],
    since: timeOf(sql, row.created),
    until: sql.time(row.until),
    refused,
  }
}
