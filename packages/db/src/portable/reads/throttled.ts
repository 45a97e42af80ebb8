import type { ClaimRequest } from '../../store.ts'
import { type Fragment, join, q, raw, type Sql } from '../sql.ts'

const RUNNING = raw('(select count(*) from {slot_runs} r where r.key = s.key)')

/**
 * Whether a claim would take a job that is due, if only its rate allowed it. A crashed job waits for its own reason,
 * and so does one whose queue or key runs as many as it may.
 */
export async function throttled(
  sql: Sql,
  { queues, topics }: Pick<ClaimRequest, 'queues' | 'topics'>,
): Promise<boolean> {
  const now = await sql.now()
  const due = q`j.status = 'pending' and j.run_at <= ${now} and ${oneOf('j.queue', queues)}
    and ${topics ? oneOf('j.topic', topics) : q`1 = 1`}
    and not exists (select 1 from {queues} p where p.name = j.queue and p.paused_at is not null)`
  // Two partial indexes hold the jobs of a key: those held back, and the others.
  const ofKey = (visible: string): Fragment => {
    const found = q`select 1 from {jobs} j where j.concurrency_key = substr(s.key, 3) and j.crashes = 0
      and (s.max_running is not null or j.concurrency_limit is null or ${RUNNING} < j.concurrency_limit) and ${due}`
    return { ...found, text: `${found.text} and ${visible}` }
  }
  const rows = await sql.all(q`select 1 as yes from {slots} s where s.rate_count is not null
    and (s.max_running is null or ${RUNNING} < s.max_running) and (
      exists (select 1 from {jobs} j where s.key = 'q:' || j.queue and j.visible_at <= ${now} and ${due})
      or s.key like 'k:%' and (exists (${ofKey('j.visible_at is null')}) or exists (${ofKey('j.visible_at is not null')}))
    ) limit 1`)
  return rows.length > 0
}

function oneOf(column: 'j.queue' | 'j.topic', names: readonly string[]): Fragment {
  if (names.length === 0) return q`1 = 0`
  const list = join(
    names.map((name) => q`${name}`),
    ', ',
  )
  return { text: `${column} in (${list.text})`, values: list.values }
}
