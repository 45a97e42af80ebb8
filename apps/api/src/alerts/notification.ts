import { createHash } from 'node:crypto'
import type { Alert } from '@oncue/core/wire'
import type { AlertRow } from '@oncue/db'
import { formatCount } from '../health/format.ts'

/** What people are notified of: one group of alerts, or several when there are too many. It contains nothing of any payload. */
export interface Notification {
  /**
   * `alert:<id>:<n>`: one for each time that an alert fires, fires again after a snooze, or resolves. A notification may be
   * handed over twice, so its id is part of the delivery's idempotency key.
   */
  readonly id: string
  readonly kind: 'firing' | 'resolved' | 'acked' | 'test'
  readonly at: Date
  /** One sentence. */
  readonly summary: string
  /** The first of the alerts at that time; null for a test. */
  readonly alert: Alert | null
  readonly alerts: readonly Alert[]
  readonly groups: readonly NotifiedGroup[]
  /** Where the app shows it. */
  readonly path: string
}

/** A group of alerts, for services that keep one incident per group. */
export interface NotifiedGroup {
  readonly id: string
  /** `retrigger`: it was acknowledged, and people must be notified again. Null: the incident does not change. */
  readonly action: 'trigger' | 'retrigger' | 'acknowledge' | 'resolve' | null
  readonly summary: string
  readonly path: string
}

/** Returns once every delivery is stored. */
export type Notify = (notification: Notification) => Promise<void>

const groupOf = ({ groupId, id }: AlertRow) => groupId ?? id

/** The alert as the API returns it. */
export function showAlert(row: AlertRow, now: Date): Alert {
  const { id, ruleId, kind, queue, topic, fingerprint, heldFor } = row
  const { summary, value, threshold, acked, resolvedAt, updated } = row
  // A snooze that has ended counts as none; the next evaluation sends the alert again.
  const snoozed = row.snoozed && row.snoozed.until > now ? { ...row.snoozed } : null
  return {
    ...{ id, ruleId, kind, queue, topic, fingerprint, summary, value, threshold, resolvedAt, updated },
    groupId: groupOf(row),
    queues: kind === 'new_error' ? [] : [...heldFor],
    state: stateOf(row, snoozed !== null),
    firedAt: row.firedAt ?? row.since,
    acked: acked && { ...acked },
    snoozed,
  }
}

function stateOf({ status, acked }: AlertRow, isSnoozed: boolean): Alert['state'] {
  if (status === 'resolved') return 'resolved'
  if (acked) return 'acked'
  return isSnoozed ? 'snoozed' : 'firing'
}

/** Alerts by their group, those that fire first. */
export function byGroup(rows: readonly AlertRow[]): AlertRow[][] {
  const groups = new Map<string, AlertRow[]>()
  for (const row of rows) groups.set(groupOf(row), [...(groups.get(groupOf(row)) ?? []), row])
  const isFiring = (members: readonly AlertRow[]) => members.some(({ status }) => status === 'firing')
  return [...groups.values()].sort((a, b) => Number(isFiring(b)) - Number(isFiring(a)))
}

/** `open`: all unresolved alerts of these groups, including unchanged ones. */
export function notificationOf(
  rows: readonly AlertRow[],
  open: readonly AlertRow[],
  now: Date,
): Notification {
  const firing = rows.filter(({ status }) => status === 'firing')
  const news = firing.length > 0 ? firing : rows
  const told = [...news, ...rows.filter((row) => !news.includes(row))]
  return {
    id: idOf(rows),
    kind: firing.length > 0 ? 'firing' : 'resolved',
    at: new Date(Math.max(...rows.map(({ updated }) => updated.getTime()))),
    ...aboutAll(news),
    ...aboutAlerts(told, now),
    groups: byGroup(rows).map((members) => {
      const ofGroup = open.filter((row) => groupOf(row) === groupOf(members[0] as AlertRow))
      return { ...groupAbout(members), action: actionOf(members, ofGroup) }
    }),
  }
}

/** For services that keep incidents: these groups were acknowledged as a whole. Null: none was. */
export function acknowledgementOf(acked: readonly AlertRow[], open: readonly AlertRow[], now: Date) {
  const groups = byGroup(open).filter((members) => members.every((row) => row.acked))
  const rows = acked.filter((row) => groups.some(([first]) => first && groupOf(first) === groupOf(row)))
  if (rows.length === 0) return null
  const times = rows.map((row) => `${row.id}:${row.acked?.at.getTime()}`)
  const notification: Notification = {
    id: `acked:${hashOf(times)}`,
    kind: 'acked',
    at: now,
    ...aboutAll(rows),
    ...aboutAlerts(rows, now),
    groups: groups.map((members) => ({ ...groupAbout(members), action: 'acknowledge' })),
  }
  return notification
}

function actionOf(told: readonly AlertRow[], open: readonly AlertRow[]): NotifiedGroup['action'] {
  if (open.length === 0) return 'resolve'
  const firing = told.filter(({ status }) => status === 'firing')
  if (firing.length === 0) return open.every(({ acked }) => acked) ? 'acknowledge' : null
  return firing.some(({ transitions }) => transitions > 1) ? 'retrigger' : 'trigger'
}

function groupAbout(rows: readonly AlertRow[]): Omit<NotifiedGroup, 'action'> {
  const firing = rows.filter(({ status }) => status === 'firing')
  return { id: groupOf(rows[0] as AlertRow), ...aboutAll(firing.length > 0 ? firing : rows) }
}

const MAX_SUMMARIES = 5

/** One sentence about all of them, and where they are shown. */
function aboutAll(rows: readonly AlertRow[]): Pick<Notification, 'summary' | 'path'> {
  const [first, ...others] = rows
  if (first && others.length === 0) return { summary: first.summary, path: `/alerts/${first.id}` }
  const more = rows.length - MAX_SUMMARIES
  const summaries = rows.slice(0, MAX_SUMMARIES).map(({ summary }) => summary)
  const rest = more > 0 ? [`and ${more} more`] : []
  return {
    summary: `${formatCount(rows.length, 'alert')}: ${[...summaries, ...rest].join(' · ')}`,
    path: '/alerts',
  }
}

function aboutAlerts(rows: readonly AlertRow[], now: Date): Pick<Notification, 'alert' | 'alerts'> {
  const alerts = rows.map((row) => showAlert(row, now))
  return { alert: alerts[0] ?? null, alerts }
}

function idOf(rows: readonly AlertRow[]): string {
  const ids = rows.map(({ id, transitions }) => `${id}:${transitions}`)
  return ids.length === 1 ? `alert:${ids[0]}` : `alerts:${hashOf(ids)}`
}

const hashOf = (parts: readonly string[]) =>
  createHash('sha256')
    .update([...parts].sort().join())
    .digest('hex')
    .slice(0, 32)
