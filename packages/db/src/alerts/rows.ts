import type { AlertKind } from '@oncue/core/wire'
import type { AlertChange, AlertEpisode, AlertRow } from '../alerts.ts'
import { type Fragment, q } from '../reads/fragment.ts'
import type { Sql } from '../sql.ts'

export type StoredAlert = {
  readonly id: string
  readonly rule_id: string
  readonly kind: AlertKind
  readonly subject: string
  readonly status: AlertRow['status']
  readonly value: number
  readonly threshold: number
  readonly summary: string
  readonly held_for: unknown
  readonly since: unknown
  readonly fired_at: unknown
  readonly calm_since: unknown
  readonly acked_at: unknown
  readonly acked_by: string | null
  readonly snoozed_until: unknown
  readonly snoozed_by: string | null
  readonly resolved_at: unknown
  readonly transitions: number
  readonly notified: number
  readonly looked_at: unknown
  readonly updated: unknown
}

export function readAlert(sql: Sql, row: StoredAlert): AlertRow {
  const ackedAt = sql.time(row.acked_at)
  const snoozedUntil = sql.time(row.snoozed_until)
  return {
    id: row.id,
    ruleId: row.rule_id,
    kind: row.kind,
    queue: row.subject || null,
    status: row.status,
    value: row.value,
    threshold: row.threshold,
    summary: row.summary,
    heldFor: sql.json(row.held_for) as AlertRow['heldFor'],
    since: sql.time(row.since) as Date,
    firedAt: sql.time(row.fired_at),
    calmSince: sql.time(row.calm_since),
    acked: ackedAt && { at: ackedAt, by: row.acked_by ?? '' },
    snoozed: snoozedUntil && { until: snoozedUntil, by: row.snoozed_by ?? '' },
    resolvedAt: sql.time(row.resolved_at),
    transitions: row.transitions,
    notified: row.notified,
    lookedAt: sql.time(row.looked_at) as Date,
    updated: sql.time(row.updated) as Date,
  }
}

export function begin(id: string, episode: AlertEpisode, at: Date): Fragment {
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
export function goOn(
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

export function forget({ id, lookedAt }: AlertRow): Fragment {
  return q`delete from {alerts} where id = ${id} and status = 'pending' and looked_at = ${lookedAt}`
}
