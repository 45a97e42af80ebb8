import type { JobId } from '@oncue/core'
import { isInline } from '../portable/enqueue.ts'
import {
  type CommittedResult,
  type CompletedRun,
  type EncodedRun,
  type NewSignal,
  signalKey,
} from '../portable/outcomes.ts'
import type { RunRef } from '../store.ts'
import type { Query } from './sql.ts'
import { fn, preparedCall } from './sql.ts'

const RECORD = preparedCall('record_outcomes', 3)
const ANSWER = preparedCall('answer', 4)
const DELIVER = preparedCall('deliver', 2)

/** Those after `after`. */
export function outcomes(id: JobId, after = 0): Query {
  const text =
    'select key, seq, kind, name, data from oncue.outcomes where job_id = $1 and seq > $2 order by seq'
  return { text, values: [id, after] }
}

export function beginSpawn({ id, run }: RunRef, worker: string | null, key: string): Query {
  const text = `select ${fn('begin_spawn')}($1::uuid, $2::integer, $3::uuid, $4::text) as begun`
  return { text, values: [id, run, worker, key] }
}

/** It returns a row, because some drivers refuse a statement without one. */
export function keepSpawned(id: JobId, key: string, spawned: readonly object[], now: Date | null): Query {
  const text = `select ${fn('keep_spawned')}($1::timestamptz, $2::uuid, $3::text, $4::json)::text`
  return { text, values: [now, id, key, JSON.stringify(spawned)] }
}

export function record(runs: readonly EncodedRun[], now: Date | null, worker: string | null): Query {
  return { ...RECORD, values: [now, JSON.stringify(runs), worker] }
}

/** To one job, or to all that have signals. */
export function deliver(id: JobId | null, now: Date | null): Query {
  return { ...DELIVER, values: [now, id] }
}

export function answer(id: JobId, name: string, data: string, now: Date | null): Query {
  return { ...ANSWER, values: [now, id, name, data] }
}

/**
 * One statement, so that a job that ends meanwhile is seen in one place; a live one first. With how many signals it keeps,
 * and whether it has this one, by its key.
 */
export function receiver({ id, name, key }: NewSignal): Query {
  const text = `select r.topic, r.live,
  exists (select from oncue.outcomes where job_id = $1::uuid and key = $2::text)
    or exists (select from oncue.signals where job_id = $1::uuid and name = $3::text and key = $4::text) as known,
  ((select count(*) from oncue.signals where job_id = $1::uuid)
    + (select count(*) from oncue.outcomes where job_id = $1::uuid and kind = 'signal'))::integer as signals
from (
  select topic, true as live from oncue.jobs where id = $1::uuid
  union all select topic, false from oncue.history where id = $1::uuid) r order by r.live desc limit 1`
  return { text, values: [id, signalKey({ name, key }), name, key ?? null] }
}

/** A repeat after a lost connection changes nothing. */
export function send({ id, name, key, data }: NewSignal, signalId: string, now: Date | null): Query {
  const text = `insert into oncue.signals (job_id, id, name, key, data, created)
values ($1::uuid, $2::uuid, $3::text, $4::text, $5::json, coalesce($6::timestamptz, oncue.clock()))
on conflict do nothing`
  return { text, values: [id, signalId, name, key ?? null, data, now] }
}

/** Heard at the commit. */
export function tellOf(id: JobId): Query {
  return { text: `select pg_notify('oncue.signals', $1::text)::text`, values: [id] }
}

export function commit({ id, run, worker, key, data }: CommittedResult, now: Date | null): Query {
  const text = `select ${fn('commit_outcome')}($1::timestamptz, $2::uuid, $3::integer, $4::uuid, $5::text, $6::json) as state`
  return { text, values: [now, id, run, worker ?? null, key, data] }
}

/**
 * One run, for a connection of the caller's: without arrays, which libraries encode in different ways. A run that has completed
 * its job is stale here: the other rows of the transaction are there already. `settle` refuses other isolation levels. `within`: no other transaction than this one.
 */
export function complete(
  { id, run, worker, result }: CompletedRun,
  now: Date | null,
  within: string | null,
): Query {
  const isBig = result !== undefined && !isInline(result)
  const big = isBig ? 'array[$2::uuid], array[$3::integer], array[$5::json]' : `'{}', '{}', '{}'`
  const text = `select case when $6::text <> txid_current()::text then -1
when current_setting('transaction_isolation') = 'read committed' and not exists (
  select from oncue.jobs where id = $2::uuid and run = $3::integer and status = 'processing'
    and ($4::uuid is null or locked_by = $4::uuid) for update)
then 1 else (select count(*)::integer from ${fn('settle')}(
  $1::timestamptz, array[$2::uuid], array[$3::integer], array[${isBig ? 'null' : '$5'}::json], null, ${big}, $4::uuid)) end as stale`
  return { text, values: [now, id, run, worker ?? null, result ?? null, within] }
}

/** The name of the transaction, for `complete`. */
export const TRANSACTION: Query = { text: 'select txid_current()::text as id', values: [] }

export function hasCompleted({ id, run }: RunRef, worker: string | null): Query {
  const text = `select 1 from oncue.history
where id = $1::uuid and run = $2::integer and status::text = 'completed' and ($3::uuid is null or locked_by = $3::uuid)`
  return { text, values: [id, run, worker] }
}
