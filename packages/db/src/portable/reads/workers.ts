import { WORKER_SILENT_MS } from '@oncue/core/wire'
import type { TopicClash, TopicRow, WorkerDetails, WorkerRow, WorkerRun } from '../../store.ts'
import { isUuid } from '../../uuid.ts'
import { type Fragment, join, q, raw, readAll, type Sql } from '../sql.ts'
import { type Level, levelsOf, walkLevel } from './ready.ts'

/** How many ended workers are kept, and listed. */
const MAX_ENDED = 1_000

const INFO = raw('w.id, w.host, w.pid, w.queues, w.concurrency, w.version, w.started_at')
/** A worker that rests has a beat in the future: it counts as seen now. */
const lastBeat = ({ clock }: Sql) =>
  q`case when w.last_beat > ${clock()} then ${clock()} else w.last_beat end as last_beat`
const KINDS = { queues: 'json', started_at: 'time', last_beat: 'time', missing_since: 'time' } as const

/** Who is here, those that came first first, and how much each of them runs. Then those that ended, the last first. */
export async function workers(
  sql: Sql,
  { ended = false }: { readonly ended?: boolean | undefined } = {},
): Promise<WorkerRow[]> {
  const [living, gone] = await Promise.all([
    readAll<WorkerRow>(
      sql,
      q`select ${INFO}, ${lastBeat(sql)}, w.missing_since, coalesce(r.running, 0) as running
      from {workers} w
      left join (select locked_by, count(*) as running from {jobs} where status = 'processing' group by locked_by) r
        on r.locked_by = w.id
      order by w.started_at, w.id`,
      KINDS,
    ),
    ended ? endedWorkers(sql) : [],
  ])
  return [
    ...living.map((worker) => ({ ...worker, ended: null })),
    ...gone.map(({ runs, ...worker }) => worker),
  ]
}

type Ended = WorkerRow & { readonly runs: WorkerRun[] }
type EndedRow = Omit<WorkerRow, 'ended'> & { readonly runs: WorkerRun[] | null } & Omit<
    NonNullable<WorkerRow['ended']>,
    'at'
  > & { readonly endedAt: Date }

/** One that was lost and came back lives. */
async function endedWorkers(sql: Sql, id?: string): Promise<Ended[]> {
  const which = id === undefined ? q`w.id not in (select id from {workers})` : q`w.id = ${id}`
  const rows = await readAll<EndedRow>(
    sql,
    q`select ${INFO}, w.last_beat, w.ended_at, w.how, w.released, w.failed, ${raw(id === undefined ? 'null' : 'w.runs')} as runs
    from {worker_ends} w where ${which} order by w.ended_at desc, w.id desc limit ${MAX_ENDED}`,
    { ...KINDS, ended_at: 'time', runs: 'json' },
  )
  return rows.map(({ endedAt: at, how, released, failed, runs, ...worker }) => ({
    ...worker,
    missingSince: null,
    running: 0,
    ended: { at, how, released, failed },
    runs: (runs ?? []).map((run) => ({ ...run, startedAt: null })),
  }))
}

/** Forgets workers that ended before a moment, and all but the last thousand. */
export function pruneWorkers(sql: Sql, endedBefore: Date): Promise<number> {
  return sql.run(q`delete from {worker_ends} where ended_at < ${endedBefore} or ended_at < (
    select ended_at from {worker_ends} order by ended_at desc, id desc limit 1 offset ${MAX_ENDED - 1})`)
}

type LiveRow = Omit<WorkerRow, 'ended' | 'running'> &
  Pick<WorkerDetails, 'service'> & {
    readonly schemas: Readonly<Record<string, string>> | null
  }

/** A worker, and what runs on it; of one that ended, what it held. Null: there is no such worker, or it was forgotten. */
export async function worker(sql: Sql, id: string): Promise<WorkerDetails | null> {
  if (!isUuid(id)) return null
  const [live] = await readAll<LiveRow>(
    sql,
    q`select ${INFO}, ${lastBeat(sql)}, w.missing_since, a.service, a.schemas
    from {workers} w left join {announcements} a on a.worker = w.id where w.id = ${id}`,
    { ...KINDS, schemas: 'json' },
  )
  if (!live) {
    const [ended] = await endedWorkers(sql, id)
    if (!ended) return null
    const held = (ended.ended?.released ?? 0) + (ended.ended?.failed ?? 0)
    return { ...ended, service: null, topics: null, runsAreComplete: ended.runs.length >= held }
  }
  const { schemas, ...rest } = live
  const { runs, areComplete } = await runsOn(sql, id, live.queues)
  return {
    ...rest,
    topics: schemas && Object.keys(schemas).sort(),
    running: runs.length,
    ended: null,
    runs,
    runsAreComplete: areComplete,
  }
}

/** How many jobs are looked at in search of those of one worker, in all. */
const MAX_SEEN = 20_000
/** A statement of more walks takes longer to plan than to run. */
const MAX_WALKS = 200

type RunRow = { readonly n: number; readonly locked_by: string | null; readonly started_at: unknown } & Omit<
  WorkerRun,
  'startedAt' | 'outcome'
>

/**
 * No index has the worker of a run: each claim would have to write it. But running jobs keep their places in `jobs_ready`:
 * those that were claimed lately stand among the first that are due, and heartbeats park the others at the end of their
 * lease, the first of those that are due later. So a bounded walk from both ends finds them.
 */
async function runsOn(
  sql: Sql,
  id: string,
  queues: readonly string[],
): Promise<{ readonly runs: WorkerRun[]; readonly areComplete: boolean }> {
  const all = await levelsOf(sql, queues)
  const levels = all.slice(0, MAX_WALKS / 2)
  if (levels.length === 0) return { runs: [], areComplete: true }
  const limit = Math.trunc(MAX_SEEN / (2 * levels.length))
  const rows = await sql.walk<RunRow>(runsStatement(id, levels, await sql.now(), limit))
  const runs = rows
    .filter(({ locked_by }) => locked_by === id)
    .map(({ n, locked_by, started_at, ...run }) => ({
      ...run,
      startedAt: sql.time(started_at),
      outcome: null,
    }))
    .sort((a, b) => (a.startedAt?.getTime() ?? Infinity) - (b.startedAt?.getTime() ?? Infinity))
  return { runs, areComplete: levels.length === all.length && rows.every(({ n }) => Number(n) < limit) }
}

/** Of each walk the runs of the worker, and the last job if there may be more behind it. */
export function runsStatement(id: string, levels: readonly Level[], now: Date, limit: number): Fragment {
  const columns = 'j.id, j.queue, j.topic, j.run, j.locked_by, j.started_at'
  const walks = levels.flatMap((level) =>
    (['due', 'later'] as const).map(
      (side) => q`select * from (${walkLevel(level, side, columns, now, limit)}) w
        where w.locked_by = ${id} or w.n = ${limit}`,
    ),
  )
  return join(walks, ' union all ')
}

export function topics(sql: Sql): Promise<TopicRow[]> {
  const statement = q`select topic, input, output, policy, announced from {topics} order by topic`
  return readAll(sql, statement, { input: 'json', output: 'json', policy: 'json', announced: 'time' })
}

type Announced = Pick<WorkerRow, 'id' | 'host' | 'pid'> & {
  readonly service: string
  readonly schemas: Readonly<Record<string, string>>
}

/** Compares what the live workers announced, topic by topic. */
export async function topicClashes(sql: Sql): Promise<TopicClash[]> {
  const since = new Date((await sql.now()).getTime() - WORKER_SILENT_MS)
  const statement = q`select w.id, w.host, w.pid, a.service, a.schemas
    from {announcements} a join {workers} w on w.id = a.worker
    where w.missing_since is null and w.last_beat > ${since}
    order by a.service, w.started_at, w.id`
  const topics = new Map<string, Map<string, Announced[]>>()
  for (const row of await readAll<Announced>(sql, statement, { schemas: 'json' })) {
    for (const [topic, digest] of Object.entries(row.schemas)) {
      const sides = topics.get(topic) ?? new Map<string, Announced[]>()
      topics.set(topic, sides.set(digest, [...(sides.get(digest) ?? []), row]))
    }
  }
  return [...topics]
    .filter(([, sides]) => sides.size > 1)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([topic, sides]) => ({ topic, sides: [...sides.values()].map(toSide) }))
}

function toSide(rows: readonly Announced[]): TopicClash['sides'][number] {
  return {
    services: [...new Set(rows.map(({ service }) => service))],
    workers: rows.map(({ id, host, pid }) => ({ id, host, pid })),
  }
}
