import {
  addKnown,
  type Delta,
  histogramJson,
  keptSince,
  type MinuteRow,
  ROLL_UP_LIMIT,
  sumUp,
  type TotalRow,
} from '../portable/stats.ts'
import type { PostgresClient, Send } from './client.ts'

/**
 * In the key space of two numbers, which presence does not use: the first is the oid of a table of this
 * installation.
 */
const LOCK = `select pg_advisory_xact_lock('oncue.stats'::regclass::int, 0)`

/**
 * Rolls up to this many deltas into the statistics. Two at once are safe: the lock makes the second wait, and
 * it then reads what the first wrote. Only the holder of the lock writes the two tables.
 */
export async function rollUpPostgres(client: PostgresClient, limit = ROLL_UP_LIMIT): Promise<number> {
  // When there is nothing to roll up, this is the only statement.
  const deltas = await client.query({ text: 'select from oncue.stat_deltas limit 1', values: [] })
  if (deltas.length === 0) return 0
  return client.inTransaction(async (send) => {
    await send({ text: LOCK, values: [] })
    const deltas = await takeDeltas(send, limit)
    if (deltas.length === 0) return 0
    const { minutes, totals } = sumUp(deltas)
    addKnown(minutes, await knownMinutes(send, minutes))
    await saveMinutes(send, minutes)
    await saveTotals(send, totals)
    await send({ text: 'delete from oncue.stats where minute < $1', values: [keptSince(deltas)] })
    return deltas.length
  })
}

async function takeDeltas(send: Send, limit: number): Promise<Delta[]> {
  const { rows } = await send({
    text: `delete from oncue.stat_deltas where id in (select id from oncue.stat_deltas limit $1)
      returning minute, queue, topic, completed, failed, cancelled, retried, waits, runs, run_ms`,
    values: [limit],
  })
  return rows.map(([minute, queue, topic, completed, failed, cancelled, retried, waits, runs, runMs]) => {
    return { minute, queue, topic, completed, failed, cancelled, retried, waits, runs, runMs } as Delta
  })
}

async function knownMinutes(send: Send, minutes: readonly MinuteRow[]): Promise<MinuteRow[]> {
  const { rows } = await send({
    text: `select s.minute, s.queue, s.topic, s.completed, s.failed, s.cancelled, s.retried, s.waits, s.runs
      from json_to_recordset($1) as k(minute timestamptz, queue text, topic text)
      join oncue.stats s on s.minute = k.minute and s.queue = k.queue and s.topic = k.topic`,
    values: [JSON.stringify(minutes.map(({ minute, queue, topic }) => ({ minute, queue, topic })))],
  })
  return rows.map(([minute, queue, topic, completed, failed, cancelled, retried, waits, runs]) => {
    return { minute, queue, topic, completed, failed, cancelled, retried, waits, runs } as MinuteRow
  })
}

async function saveMinutes(send: Send, minutes: readonly MinuteRow[]): Promise<void> {
  if (minutes.length === 0) return
  const rows = minutes.map((row) => ({
    ...row,
    waits: histogramJson(row.waits),
    runs: histogramJson(row.runs),
  }))
  await send({
    text: `insert into oncue.stats (minute, queue, topic, completed, failed, cancelled, retried, waits, runs)
      select minute, queue, topic, completed, failed, cancelled, retried, waits, runs
      from json_to_recordset($1) as r(minute timestamptz, queue text, topic text, completed integer, failed integer,
        cancelled integer, retried integer, waits json, runs json)
      on conflict (minute, queue, topic) do update set completed = excluded.completed, failed = excluded.failed,
        cancelled = excluded.cancelled, retried = excluded.retried, waits = excluded.waits, runs = excluded.runs`,
    values: [JSON.stringify(rows)],
  })
}

async function saveTotals(send: Send, totals: readonly TotalRow[]): Promise<void> {
  await send({
    text: `insert into oncue.totals as t (queue, topic, completed, failed, cancelled, runs, run_ms)
      select queue, topic, completed, failed, cancelled, runs, "runMs"
      from json_to_recordset($1) as r(queue text, topic text, completed integer, failed integer, cancelled integer,
        runs bigint, "runMs" bigint)
      on conflict (queue, topic) do update set completed = t.completed + excluded.completed,
        failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
        runs = t.runs + excluded.runs, run_ms = t.run_ms + excluded.run_ms`,
    values: [JSON.stringify(totals)],
  })
}
