import type { JobStats } from '../../src/store.ts'
import { KEY_LIMITS, QUEUE_LIMIT } from './actor.ts'
import type { Reader } from './reader.ts'
import type { Claim, Record } from './record.ts'

/** Checks what must hold at every moment, in one snapshot. Returns the violations. */
export async function checkMoment(reader: Reader): Promise<string[]> {
  const violations: string[] = []
  for (const { key, n } of await reader(
    `select concurrency_key as key, count(*) as n from {jobs}
     where status = 'processing' and concurrency_key is not null group by concurrency_key`,
  )) {
    const limit = KEY_LIMITS[key as keyof typeof KEY_LIMITS]
    if (Number(n) > limit) violations.push(`${n} runs of the key ${key}, which allows ${limit}`)
  }
  for (const { n } of await reader(
    `select count(*) as n from {jobs} where status = 'processing' and queue = 'limited'`,
  )) {
    if (Number(n) > QUEUE_LIMIT) violations.push(`${n} runs in a queue that allows ${QUEUE_LIMIT}`)
  }
  for (const { topic, key, n } of await reader(
    `select topic, unique_key as key, count(*) as n from {jobs}
     where unique_key is not null and status = 'processing' group by topic, unique_key having count(*) > 1`,
  )) {
    violations.push(`${n} runs of the unique key ${key} of ${topic}`)
  }
  return violations
}

/** Checks what must hold of everything that the actors were told. */
export function checkRecord(record: Record): string[] {
  const violations = record.surprises.map((surprise) => `unexpected error: ${surprise}`)
  const claims = new Map<string, Claim>()
  for (const claim of record.claims) {
    if (claims.has(nameOf(claim))) violations.push(`claimed twice: ${nameOf(claim)}`)
    claims.set(nameOf(claim), claim)
  }
  const settled = new Map<string, string>()
  for (const end of record.settled) {
    const name = nameOf(end)
    const before = settled.get(name)
    if (before) violations.push(`settled twice, ${before} and ${end.kind}: ${name}`)
    if (!claims.has(name)) violations.push(`settled and never claimed: ${name}`)
    settled.set(name, end.kind)
  }
  const leases = leasesOf(record)
  for (const claim of record.claims) {
    const next = claims.get(nameOf({ id: claim.id, run: claim.run + 1 }))
    if (!next) continue
    if (next.at < claim.at) violations.push(`runs out of order: ${nameOf(claim)}`)
    const until = leases.get(nameOf(claim)) ?? claim.until
    if (!settled.has(nameOf(claim)) && next.at < until)
      violations.push(`taken over ${until - next.at} ms before its lease ended: ${nameOf(claim)}`)
  }
  return violations
}

/** When the lease of each run ended. A heartbeat counts only if it was acknowledged while the lease was valid. */
function leasesOf({ claims, beats }: Record): Map<string, number> {
  const leases = new Map(claims.map((claim) => [nameOf(claim), claim.until]))
  for (const beat of beats.toSorted((a, b) => a.answeredAt - b.answeredAt)) {
    const until = leases.get(nameOf(beat)) ?? 0
    if (beat.answeredAt < until) leases.set(nameOf(beat), Math.max(until, beat.until))
  }
  return leases
}

function nameOf({ id, run }: { readonly id: string; readonly run: number }): string {
  return `${id} run ${run}`
}

/** Jobs that should have been worked off: running, due, or waiting for a slot that is free. */
export async function unfinished(reader: Reader, now: Date): Promise<string[]> {
  const rows = await reader(
    `select id, status, queue, visible_at from {jobs} where status = 'processing'
       or (status = 'pending' and (visible_at is null or visible_at <= ?))`,
    [now],
  )
  return rows.map(({ id, status, queue }) => `${id}: ${status} in ${queue}`)
}

/** Checks what must hold of the tables once all work is done. */
export async function checkRest(reader: Reader, record: Record, stats: JobStats): Promise<string[]> {
  const violations: string[] = []
  const add = async (what: string, text: string) => {
    for (const { name } of await reader(text)) violations.push(`${what}: ${name}`)
  }
  const isGone = (column: string) =>
    `not exists (select 1 from {jobs} j where j.id = ${column}) and not exists (select 1 from {history} h where h.id = ${column})`

  await add(
    'live and finished at once',
    'select id as name from {jobs} where id in (select id from {history})',
  )
  const known = new Set(
    (await reader('select id from {jobs} union all select id from {history}')).map((row) => row.id),
  )
  const missing = [...new Set(record.enqueued)].filter((id) => !known.has(id))
  if (missing.length !== record.removed)
    violations.push(`${missing.length} jobs are gone, but ${record.removed} were reported deleted or pruned`)

  await add(
    'blocked with a wrong count of parents',
    `select id as name from {jobs} j where status = 'blocked'
       and deps_left <> (select count(*) from {deps} d where d.job_id = j.id)`,
  )
  await add(
    'blocked by a parent that completed or is gone',
    `select d.job_id as name from {deps} d where not exists (select 1 from {jobs} p where p.id = d.parent_id)
       and not exists (select 1 from {history} h where h.id = d.parent_id and h.status <> 'completed')`,
  )
  await add(
    'a stream with gaps',
    `select job_id as name from {events} group by job_id having count(*) <> max(version) or min(version) <> 1`,
  )
  await add('a slot of no run', 'select job_id as name from {slot_runs}')
  await add('a payload of no job', `select job_id as name from {payloads} where ${isGone('job_id')}`)
  await add('an event of no job', `select job_id as name from {events} where ${isGone('job_id')}`)
  await add('meta of no job', `select job_id as name from {job_meta} where ${isGone('job_id')}`)
  await add(
    'an edge of no job',
    'select job_id as name from {deps} where job_id not in (select id from {jobs})',
  )
  await add(
    'a key of no live job',
    'select job_id as name from {keys} where until is null and job_id not in (select id from {jobs})',
  )
  for (const status of ['completed', 'failed', 'cancelled'] as const) {
    const [row] = await reader(`select count(*) as n from {history} where status = '${status}'`)
    if (Number(row?.n) !== stats[status])
      violations.push(`statistics count ${stats[status]} ${status} jobs, there are ${row?.n}`)
  }
  return violations
}
