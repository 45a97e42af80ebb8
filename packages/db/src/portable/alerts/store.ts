import { newJobId } from '@oncue/core'
import { INTERNAL_QUEUE } from '@oncue/core/internal'
import { type Fragment, q } from '../reads/fragment.ts'
import type { Sql } from '../sql.ts'
import type { AlertChange, AlertEpisode, AlertRow, AlertStore } from './types.ts'

/** Portable SQL: several conditional writes that are one transaction, among them an insert that may lose a race. */
export function createAlerts(sql: Sql): AlertStore {
  return {
    async record(at, changes) {
      const statements = changes.flatMap(({ before, after, ...ends }) => {
        if (before && after) return goOn(before, after, at, ends)
        if (after) return begin(newJobId(at.getTime()), after, at)
        return before ? forget(before) : []
      })
      // What lies between was looked at since, by another; what lies ahead, before the clock was set back.
      const isOlder = q`looked_at not between ${at} and ${await sql.now()}`
      await sql.run(
        ...statements,
        q`update {alerts} set looked_at = ${at} where status <> 'resolved' and ${isOlder}`,
      )
    },

    async wasBusy(since, queue) {
      const where = q`minute >= ${since} and completed + failed > 0
        and ${queue === null ? q`queue <> ${INTERNAL_QUEUE}` : q`queue = ${queue}`}`
      const rows = await sql.all(q`select 1 from {stats} where ${where}
        union all select 1 from {stat_deltas} where ${where} limit 1`)
      return rows.length > 0
    },
  }
}

function begin(id: string, episode: AlertEpisode, at: Date): Fragment {
  const { ruleId, kind, queue, status, value, threshold, summary, heldFor } = episode
  const { since, firedAt, calmSince, resolvedAt, transitions } = episode
  return q`insert into {alerts} (id, rule_id, kind, subject, status, value, threshold, summary, held_for,
      since, fired_at, calm_since, resolved_at, transitions, notified, looked_at, updated)
    values (${id}, ${ruleId}, ${kind}, ${queue ?? ''}, ${status}, ${value}, ${threshold}, ${summary}, ${JSON.stringify(heldFor)},
      ${since}, ${firedAt}, ${calmSince}, ${resolvedAt}, ${transitions}, 0, ${at}, ${at})
    on conflict do nothing`
}

/**
 * What people wrote on it stays, but for an ack that was of other queues and a snooze that is over: unless they
 * have just set another.
 */
function goOn(
  before: AlertRow,
  after: AlertEpisode,
  at: Date,
  { endsAck, endsSnooze }: Pick<AlertChange, 'endsAck' | 'endsSnooze'>,
): Fragment {
  const heldFor = JSON.stringify(after.heldFor)
  const ack = endsAck
    ? q`, acked_at = null, acked_by = null, held_for = ${heldFor}`
    : q`, held_for = case when acked_at is null then ${heldFor} else held_for end`
  const acked = endsAck ? q` and acked_at = ${before.acked?.at ?? null}` : q``
  const snooze = endsSnooze ? q`, snoozed_until = null, snoozed_by = null` : q``
  const seen = endsSnooze ? q` and snoozed_until = ${before.snoozed?.until ?? null}` : q``
  return q`update {alerts} set subject = ${after.queue ?? ''}, status = ${after.status}, value = ${after.value},
      threshold = ${after.threshold}, summary = ${after.summary}, since = ${after.since}, fired_at = ${after.firedAt},
      calm_since = ${after.calmSince}, resolved_at = ${after.resolvedAt}, transitions = ${after.transitions},
      looked_at = ${at}, updated = ${at}${ack}${snooze}
    where id = ${before.id} and status <> 'resolved' and looked_at = ${before.lookedAt}${acked}${seen}`
}

function forget({ id, lookedAt }: AlertRow): Fragment {
  return q`delete from {alerts} where id = ${id} and status = 'pending' and looked_at = ${lookedAt}`
}
