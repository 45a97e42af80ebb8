import type { JobError } from '@oncue/core'
import { TREND_PARTS } from '@oncue/core/wire'
import type { FailureFilter, FailureGroup } from '../../store.ts'
import { all, type Fragment, q, raw, type Sql, timeOf } from '../sql.ts'
import { inQueueAndTopic } from './counts.ts'
import { invalid } from './filter.ts'
import { distinctHeads, each } from './scan.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How many retrying jobs of a kind are counted, if there are few kinds; if there are many, how many of each. */
const COUNT_UP_TO = 10_000
const COUNT_AT_LEAST = 100
/** How many are counted in all. */
const COUNT_IN_ALL = 100_000
/**
 * A kind is a fingerprint in a queue and topic. This many kinds of retrying jobs are read, in the order of
 * their names.
 */
const MOST_KINDS = 1_000
/** Of each kind, this many of the next and of the last retries are read to find when it was last seen. */
const LOOK_AT = 50
/** How many groups are searched for a text. */
const MOST_GROUPS = 1_000

type GroupRow = {
  readonly fingerprint: string
  /** Live jobs, also those that are being undone. */
  readonly retrying: number
  readonly undoing: number
  readonly failed: number
  /** Whether there are more retrying jobs than were counted. */
  readonly beyond: number
  readonly next_try: unknown
  readonly first_seen: unknown
  readonly last_seen: unknown
  /** When the oldest job of the group failed first with this error. Null: its events do not show it. */
  readonly first_failed: unknown
  readonly topics: unknown
  readonly queues: unknown
  /** Part → how many gave up; parts without any are left out. Null: none did. */
  readonly trend: unknown
  readonly was_before: number | boolean
  readonly sample_id: string
  readonly sample_error: unknown
}

/** A filter whose times are known. */
export type Failed = Omit<FailureFilter, 'text'> & {
  readonly now: Date
  readonly since: Date
  readonly newSince: Date
  /** How long one part of the trend is. */
  readonly partMs: number
  readonly limit: number
}

export async function failures(sql: Sql, { text, ...filter }: FailureFilter = {}): Promise<FailureGroup[]> {
  const { limit = 50 } = filter
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalid('limit', 'must be from 1 to 1000')
  const now = await sql.now()
  const { since = before(now, DAY_MS), newSince = before(now, HOUR_MS) } = filter
  const partMs = Math.max(1, (now.getTime() - since.getTime()) / TREND_PARTS)
  const most = text === undefined ? limit : MOST_GROUPS
  const failed = { ...filter, now, since, newSince, partMs, limit: most }
  const rows = await sql.walk<GroupRow>(failuresStatement(sql.dialect, failed))
  const groups = rows.map((row) => groupOf(sql, row))
  return text === undefined ? groups : groups.filter(having(text)).slice(0, limit)
}

const before = (moment: Date, ms: number) => new Date(moment.getTime() - ms)

function groupOf(sql: Sql, row: GroupRow): FailureGroup {
  const { fingerprint, retrying, undoing, failed } = row
  const error = sql.json(row.sample_error) as JobError | null
  return {
    fingerprint,
    class: error?.class ?? '',
    message: error?.message ?? '',
    retrying: retrying - undoing,
    undoing,
    retryingIsExact: !row.beyond,
    failed,
    nextTryAt: sql.time(row.next_try),
    firstSeen: firstOf(timeOf(sql, row.first_seen), sql.time(row.first_failed)),
    lastSeen: timeOf(sql, row.last_seen),
    topics: (sql.json(row.topics) as string[]).sort(),
    queues: (sql.json(row.queues) as string[]).sort(),
    isNew: !row.was_before,
    trend: trendOf((sql.json(row.trend) ?? {}) as Record<string, number>, retrying),
    sample: { jobId: row.sample_id, error },
  }
}

const firstOf = (seen: Date, failed: Date | null) => (failed !== null && failed < seen ? failed : seen)

/** Whether class or message contains the text, ignoring case. */
function having(text: string): (group: FailureGroup) => boolean {
  const wanted = text.toLowerCase()
  return ({ class: name, message }) => [name, message].some((part) => part.toLowerCase().includes(wanted))
}

/** A job that gave up at this very moment belongs to the last part, and so does one that fails and is retried now. */
function trendOf(counts: Readonly<Record<string, number>>, retrying: number): number[] {
  const trend = new Array<number>(TREND_PARTS).fill(0)
  const add = (part: number, count: number) => {
    const at = Math.min(part, TREND_PARTS - 1)
    trend[at] = (trend[at] ?? 0) + count
  }
  for (const [part, count] of Object.entries(counts)) add(Number(part), count)
  add(TREND_PARTS - 1, retrying)
  return trend
}

/**
 * Groups of failures, in one statement, so that a job that gives up meanwhile is counted once.
 *
 * Jobs that gave up in the requested time are read once, by history_failed, and counted for each combination of
 * columns; groups and trends are built from these few counts. The sample is found in the same index by the moment
 * of the last failure. Whether a group is new is looked up in history_fingerprint, which has the
 * oldest job first. A requeued job no longer shows its earlier failures, but its events do: when the error was first
 * seen is looked up in those of the group's oldest job, because its id is the smallest.
 *
 * Retrying jobs are found by jobs_failing, kind by kind, each by one descent from the one before. At
 * most COUNT_IN_ALL entries are counted, the same number of each kind, the next retry is one descent, and 2 × LOOK_AT jobs are read, however many
 * there are. They are counted in the order of that index, so that no plan uses another index and a filter.
 *
 * Fingerprints break ties, so that the order is stable. Expressions in place of plain columns keep plans from walking
 * all failures ever recorded along another index that has them in that order.
 */
export function failuresStatement(dialect: Sql['dialect'], filter: Failed): Fragment {
  const { fingerprint, since, newSince, partMs, limit, sort } = filter
  const isPostgres = dialect === 'postgres'
  const list = raw(isPostgres ? 'json_agg' : 'json_group_array')
  const object = raw(isPostgres ? 'json_object_agg' : 'json_group_object')
  const by = (index: string) => raw(isPostgres ? '{history} h' : `{history} h indexed by {${index}}`)
  const part = isPostgres
    ? q`cast(floor(date_part('epoch', h.finished_at - ${since}::timestamptz) * 1000 / ${partMs}::float8) as integer)`
    : q`cast((h.finished_at - ${since}) / ${partMs} as integer)`
  const where = all([
    inQueueAndTopic(filter),
    ...(fingerprint === undefined ? [] : [q`h.fingerprint = ${fingerprint}`]),
  ])
  const first = raw(sort === 'largest' ? 'total desc, last_seen desc' : 'last_seen desc')
  const id = raw(isPostgres ? 'uuid' : 'text')
  const never = raw(`cast(null as ${isPostgres ? 'timestamptz' : 'integer'})`)
  return q`with recursive ${retryingKinds(dialect, filter)},
    c as materialized (
      select coalesce(h.fingerprint, '') as fingerprint, h.topic, h.queue, ${part} as part, count(*) as count,
        min(h.finished_at) as first_seen, max(h.finished_at) as last_seen, min(cast(h.id as text)) as oldest
      from ${by('history_failed')}
      where h.status = 'failed' and h.finished_at >= ${since} and ${where}
      group by coalesce(h.fingerprint, ''), h.topic, h.queue, part),
    g as materialized (
      select fingerprint, cast(sum(retrying) as bigint) as retrying, cast(sum(undoing) as bigint) as undoing, cast(sum(failed) as bigint) as failed,
        cast(sum(retrying + failed) as bigint) as total, max(beyond) as beyond, min(next_try) as next_try,
        min(first_seen) as first_seen, max(last_seen) as last_seen, min(oldest) as oldest, max(last_live) as last_live,
        max(last_failed) as last_failed, ${list}(distinct topic) as topics, ${list}(distinct queue) as queues
      from (
        select fingerprint, topic, queue, 0 as retrying, 0 as undoing, count as failed, 0 as beyond, ${never} as next_try,
          first_seen, last_seen, oldest, ${never} as last_live, last_seen as last_failed
        from c where fingerprint <> ''
        union all
        select fingerprint, topic, queue, case when retrying > n then n else retrying end, undoing,
          0, case when retrying > n then 1 else 0 end, next_try,
          first_seen, last_seen, oldest, last_seen, ${never}
        from r, most) k
      group by fingerprint
      order by ${first}, fingerprint limit ${limit}),
    t as materialized (
      select fingerprint, ${object}(part, count) as trend from (
        select g.fingerprint, c.part, cast(sum(c.count) as bigint) as count
        from g join c on c.fingerprint = g.fingerprint group by g.fingerprint, c.part) parts
      group by fingerprint),
    s as materialized (
      select g.*, case when last_failed is null or last_live >= last_failed
        then (select e.id from ends e where e.fingerprint = g.fingerprint and e.seen = g.last_live
          order by cast(e.id as text) desc limit 1)
        end as live_id,
        case when last_live is null or last_live < last_failed then (
          select h.id from ${by('history_failed')}
          where h.status = 'failed' and h.finished_at = g.last_failed and coalesce(h.fingerprint, '') = g.fingerprint
            and ${where}
          order by cast(h.id as text) desc limit 1) end as failed_id,
        (select e.created from {events} e where e.job_id = cast(g.oldest as ${id})
            and case when e.type in ('run_failed', 'run_suspended') then e.data -> 'error' ->> 'fingerprint' = g.fingerprint
              when e.type = 'run_crashed' then g.fingerprint like 'WORKER_CRASHED:%' end
          order by e.version limit 1) as first_failed
      from g)
    select s.*, t.trend, coalesce(s.live_id, s.failed_id) as sample_id,
      case when s.live_id is null then (select h.last_error from {history} h where h.id = s.failed_id)
        else (select j.last_error from {jobs} j where j.id = s.live_id) end as sample_error,
      s.first_seen < ${newSince} or s.first_failed < ${newSince} or (
        select 1 from ${by('history_fingerprint')}
        where h.status = 'failed' and h.fingerprint = s.fingerprint
          and h.created < ${newSince} and h.finished_at < ${newSince}
        order by h.created, h.id limit 1) is not null as was_before
    from s left join t on t.fingerprint = s.fingerprint
    order by ${first}, s.fingerprint`
}

/**
 * CTEs of the kinds of retrying jobs: `r`, with how many there are, when the next is retried, and when it was last
 * seen; and `ends`, the jobs that show this. A waiting job was last updated when its run failed. A heartbeat updates
 * a running one too, but its last failure was before it was due.
 *
 * Numbers are bound as floats on SQLite, where a division keeps its fraction; a limit must be whole.
 */
function retryingKinds(dialect: Sql['dialect'], filter: Failed): Fragment {
  const { fingerprint, now } = filter
  const only =
    fingerprint === undefined ? raw('x.fingerprint is not null') : q`x.fingerprint = ${fingerprint}`
  const index = { table: 'jobs', index: 'jobs_failing', where: only } as const
  const of = (row: string) =>
    raw(`x.fingerprint = ${row}.fingerprint and x.queue = ${row}.queue and x.topic = ${row}.topic`)
  const rows = raw(dialect === 'postgres' ? '{jobs} x' : '{jobs} x indexed by {jobs_failing}')
  const end = (order: 'asc' | 'desc') => {
    const scan = { ...index, where: of('o'), order: raw(`x.run_at ${order}`), limit: LOOK_AT }
    return q`select o.fingerprint, o.queue, o.topic, n.id,
      case when n.status <> 'pending' and n.run_at < n.updated then n.run_at else n.updated end as seen,
      case when n.ending ->> 'status' is null then 0 else 1 end as undoing
      from ${each(dialect, raw('kinds'), scan)}`
  }
  return q`${distinctHeads(dialect, 'heads', index, ['fingerprint', 'queue', 'topic'], MOST_KINDS)},
    kinds as materialized (select fingerprint, queue, topic from heads where ${inQueueAndTopic(filter)}),
    most as materialized (
      select case when count(*) <= ${COUNT_IN_ALL / COUNT_UP_TO} then ${COUNT_UP_TO}
        when count(*) >= ${COUNT_IN_ALL / COUNT_AT_LEAST} then ${COUNT_AT_LEAST}
        else cast(${COUNT_IN_ALL} / count(*) as bigint) end as n from kinds),
    ends as materialized (${end('asc')} union ${end('desc')}),
    seen as materialized (
      select fingerprint, queue, topic, min(seen) as first_seen, max(seen) as last_seen,
        min(cast(id as text)) as oldest, sum(undoing) as undoing
      from ends group by fingerprint, queue, topic),
    r as materialized (
      select k.fingerprint, k.queue, k.topic, k.first_seen, k.last_seen, k.oldest, k.undoing,
        (select count(*) from (
          select 1 from ${rows} where ${of('k')} order by x.run_at limit (select n + 1 from most)) few) as retrying,
        (select x.run_at from ${rows} where ${of('k')} and x.run_at > ${now} order by x.run_at limit 1) as next_try
      from seen k)`
}
