import { type Fragment, join, q, raw, type Sql } from '../sql.ts'

/** Priorities of a queue that are looked at, the highest first. */
const MAX_LEVELS = 100

/** The jobs of one queue and priority: what one walk along `jobs_ready` passes. */
export type Level = { readonly queue: string; readonly priority: number }

/** The priorities in use in these queues. Each is one step along `jobs_ready`, however many jobs it has. */
export function levelsStatement(queues: readonly string[]): Fragment {
  // As values: a compound select of SQLite has at most 500 terms.
  const names = join(
    queues.map((queue) => q`(cast(${queue} as text))`),
    ', ',
  )
  const jobsOf = (queue: string) => raw(`from {jobs} j where j.queue = ${queue} and j.visible_at is not null`)
  return q`with recursive names(queue) as (values ${names}), levels(queue, priority, n) as (
      select s.queue, (select j.priority ${jobsOf('s.queue')} order by j.priority desc limit 1), 1 from names s
      union all
      select l.queue,
        (select j.priority ${jobsOf('l.queue')} and j.priority < l.priority order by j.priority desc limit 1), l.n + 1
      from levels l where l.priority is not null and l.n <= ${MAX_LEVELS})
    select queue, priority from levels where priority is not null and n <= ${MAX_LEVELS}`
}

export function levelsOf(sql: Sql, queues: readonly string[]): Promise<Level[]> {
  return queues.length === 0 ? Promise.resolve([]) : sql.walk<Level>(levelsStatement(queues))
}

/**
 * The first `limit` jobs of a level that are due (those that run since lately among them), or that are not (those that
 * have run for longer, parked at the end of their lease). `n` counts them.
 */
export function walkLevel(
  { queue, priority }: Level,
  side: 'due' | 'later',
  columns: string,
  now: Date,
  limit: number,
): Fragment {
  const within = side === 'due' ? q`j.visible_at <= ${now}` : q`j.visible_at > ${now}`
  return q`select j.*, row_number() over () as n from (
      select ${raw(columns)} from {jobs} j where j.queue = ${queue} and j.priority = ${priority} and ${within}
      order by j.visible_at, j.id limit ${limit}) j`
}
