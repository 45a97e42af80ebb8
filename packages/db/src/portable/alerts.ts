import { newJobId } from '@oncue/core'
import { INTERNAL_QUEUE } from '@oncue/core/internal'
import type { Alert, AlertRule } from '@oncue/core/wire'
import { type Fragment, q, type Sql } from './sql.ts'

export type AlertRuleRow = Omit<AlertRule, 'forSeconds'> & {
  /** How long it must hold before it fires. */
  readonly forMs: number
}

/** The state of an episode in an evaluation: from when a condition began to hold until it was resolved. */
export type AlertEpisode = Readonly<
  Pick<
    Alert,
    'ruleId' | 'kind' | 'queue' | 'topic' | 'fingerprint' | 'value' | 'threshold' | 'summary' | 'resolvedAt'
  >
> & {
  /** Alerts of one cause are announced together. Null: it has not fired. */
  readonly groupId: string | null
  /** `pending`: it has not held for long enough, and is not shown. */
  readonly status: 'pending' | 'firing' | 'resolved'
  /** The queues or errors for which it held, as people saw it when they acked it, or as it is now. */
  readonly heldFor: readonly string[]
  readonly since: Date
  readonly firedAt: Date | null
  /** Since when the condition is clearly false. */
  readonly calmSince: Date | null
  /** How often it fired, fired again or was resolved: each is announced. */
  readonly transitions: number
}

/** It has one mark at a time, `acked` or `snoozed`: the last one counts. */
export type AlertRow = AlertEpisode &
  Readonly<Pick<Alert, 'id' | 'acked' | 'snoozed' | 'updated'>> & {
    /** How many of its transitions were delivered. */
    readonly notified: number
    readonly lookedAt: Date
  }

export type AlertChange = {
  /** Null: it begins. */
  readonly before: AlertRow | null
  /** Null: it never fired, and is deleted. */
  readonly after: AlertEpisode | null
  /** Removes the ack of `before`. */
  readonly endsAck?: boolean | undefined
  /** Removes the snooze of `before`. */
  readonly endsSnooze?: boolean | undefined
}

/** The evaluator's transitions, which are one transaction, and a read of the statistics. */
export interface AlertStore {
  /**
   * Writes the result of an evaluation, as one transaction. An alert that another process has evaluated since it was
   * read is not changed; when two processes begin the same episode, one succeeds.
   */
  record(at: Date, changes: readonly AlertChange[]): Promise<void>
  /** Whether any job finished since, in this queue, or in any but Oncue's own. */
  wasBusy(since: Date, queue: string | null): Promise<boolean>
  /** Of these fingerprints, those with which a run failed whose job ended in this time, whether it gave up or not. */
  failedBetween(fingerprints: readonly string[], from: Date, to: Date): Promise<Set<string>>
}

const DAY_MS = 86_400_000

/** Portable SQL: several conditional writes that are one transaction, among them an insert that may lose a race. */
export function createAlerts(sql: Sql): AlertStore {
  return {
    async record(at, changes) {
      const statements = changes.flatMap(({ before, after, ...ends }) => {
        if (before && after) return goOn(before, after, at, ends)
        if (after) return begin(newJobId(at.getTime()), after, at)
        return before ? forget(before) : []
      })
      // Times in between were evaluated by another process; times ahead, before the clock was set back.
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

    async failedBetween(fingerprints, from, to) {
      const found = new Set<string>()
      for (const fingerprint of fingerprints) {
        for (const statement of [gaveUpBetween, recoveredBetween]) {
          if (found.has(fingerprint)) continue
          const rows = await sql.all(statement(fingerprint, from, to))
          if (rows.length > 0) found.add(fingerprint)
        }
      }
      return found
    },
  }
}

/**
 * A failed job was created before it failed. The bound keeps the walk short where all failures are older; the day is
 * for retries.
 */
export function gaveUpBetween(fingerprint: string, from: Date, to: Date): Fragment {
  return q`select 1 from {history}
    where status = 'failed' and fingerprint = ${fingerprint}
      and created >= ${new Date(from.getTime() - DAY_MS)} and created < ${to}
      and finished_at >= ${from} and finished_at < ${to}
    order by created desc, id desc limit 1`
}

/** A job that completed, or was cancelled, keeps the fingerprint of the last run that failed before. */
export function recoveredBetween(fingerprint: string, from: Date, to: Date): Fragment {
  return q`select 1 from {history}
    where status <> 'failed' and fingerprint = ${fingerprint} and finished_at >= ${from} and finished_at < ${to}
    order by finished_at desc limit 1`
}

function begin(id: string, episode: AlertEpisode, at: Date): Fragment {
  const { ruleId, kind, queue, topic, fingerprint, groupId } = episode
  const { status, value, threshold, summary, heldFor } = episode
  const { since, firedAt, calmSince, resolvedAt, transitions } = episode
  return q`insert into {alerts} (id, rule_id, kind, subject, status, value, threshold, summary, held_for,
      since, fired_at, calm_since, resolved_at, transitions, notified, looked_at, updated, topic, fingerprint, group_id)
    values (${id}, ${ruleId}, ${kind}, ${queue ?? ''}, ${status}, ${value}, ${threshold}, ${summary}, ${JSON.stringify(heldFor)},
      ${since}, ${firedAt}, ${calmSince}, ${resolvedAt}, ${transitions}, 0, ${at}, ${at},
      ${topic}, ${fingerprint}, ${groupId})
    on conflict do nothing`
}

/**
 * Keeps acks and snoozes, except an ack of other queues and a snooze that has run out, unless a person has just
 * set a new one.
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
      topic = ${after.topic}, fingerprint = ${after.fingerprint}, group_id = ${after.groupId},
      looked_at = ${at}, updated = ${at}${ack}${snooze}
    where id = ${before.id} and status <> 'resolved' and looked_at = ${before.lookedAt}${acked}${seen}`
}

function forget({ id, lookedAt }: AlertRow): Fragment {
  return q`delete from {alerts} where id = ${id} and status = 'pending' and looked_at = ${lookedAt}`
}
