import type { Health } from '../../lib/connection-provider.tsx'
import { count, number, percent } from '../../lib/format.ts'
import type { Entry } from '../activity/queries.ts'
import { deedOf, targetOf } from '../activity/words.ts'
import type { Alert } from '../alerts/queries.ts'

const MAX_ERRORS = 5
const MAX_DEEDS = 15
const MAX_ALERTS = 5
const MAX_MESSAGE = 160

export interface Incident {
  readonly health: Pick<Health, 'environment' | 'summary' | 'failures' | 'alerts'>
  /** Those that fire, by name. */
  readonly firing?: readonly Pick<Alert, 'summary' | 'firedAt'>[] | undefined
  /** The one that it is about, if it is about one. */
  readonly alert?:
    | { readonly summary: string; readonly firedAt: Date; readonly acked: { readonly by: string } | null }
    | undefined
  /** Those with problems, worst first. */
  readonly queues: readonly Health['queues'][number][]
  /** What people did in the last hour, newest first. Null: this role may not read it. */
  readonly deeds: readonly Entry[] | null
  readonly now: number
}

/** What colleagues need to know, to be pasted into a chat: asterisks make Slack write bold. */
export function incidentSummary({ health, alert, firing = [], queues, deeds, now }: Incident): string {
  const { environment, summary, failures, alerts } = health
  const where = environment ? `${environment.toUpperCase()}: ` : ''
  const alertWords = [
    alerts.firing > 0 && `${number(alerts.firing)} firing`,
    alerts.acked > 0 && `${number(alerts.acked)} acknowledged`,
    alerts.snoozed > 0 && `${number(alerts.snoozed)} snoozed`,
  ].filter(Boolean)
  const parts = [
    `*${where}${summary.text}* (${minute(new Date(now))} UTC)`,
    alert && alertLine(alert),
    alertWords.length > 0 && `Alerts: ${alertWords.join(', ')}`,
    section('Firing', firing.map(firingLine), MAX_ALERTS, 'more alert'),
    section('Errors in the last hour', failures.map(errorLine), MAX_ERRORS),
    section('Queues with problems', queues.map(queueLine)),
    // The API returns the newest first; a summary is read from the beginning.
    deeds && section('Done in the last hour', deedLines(deeds.filter(isDeed))),
  ]
  return parts.filter(Boolean).join('\n').replaceAll('\u00a0', ' ')
}

function alertLine({ summary, firedAt, acked }: NonNullable<Incident['alert']>): string {
  const seen = acked ? `acknowledged by ${acked.by}` : 'not acknowledged'
  return `Alert: ${summary}, since ${minute(firedAt)} UTC, ${seen}`
}

const minute = (date: Date) => date.toISOString().slice(0, 16).replace('T', ' ')

const firingLine = ({ summary, firedAt }: Pick<Alert, 'summary' | 'firedAt'>) =>
  `${summary}, since ${minute(firedAt)} UTC`

/** Producers enqueue all day, and people sign in: that is no response to an incident. */
const isDeed = ({ action }: Entry) =>
  /^(jobs|bulkOperations|queues|schedules|alerts)\./.test(action) && !action.startsWith('jobs.enqueue')

function deedLines(deeds: readonly Entry[]): string[] {
  const earlier = deeds.length - MAX_DEEDS
  const lines = deeds.slice(0, MAX_DEEDS).map(deedLine).reverse()
  return earlier > 0 ? [count(earlier, 'earlier action'), ...lines] : lines
}

function section(title: string, lines: readonly string[], max = lines.length, what = 'more kind'): string {
  if (lines.length === 0) return ''
  const rest = lines.length - max
  const more = rest > 0 ? [`• and ${count(rest, what)}`] : []
  return [`*${title}*`, ...lines.slice(0, max).map((line) => `• ${line}`), ...more].join('\n')
}

function errorLine(group: Health['failures'][number]): string {
  const { class: name, message, retrying, undoing, failed, topics } = group
  const [first = ''] = message.split('\n')
  const short = first.length > MAX_MESSAGE ? `${first.slice(0, MAX_MESSAGE)}…` : first
  const counts = [
    retrying > 0 && `${number(retrying)} retrying`,
    undoing > 0 && `${number(undoing)} undoing`,
    failed > 0 && `${number(failed)} gave up`,
  ]
  return `${name}: ${short} (${topics.join(', ')}): ${counts.filter(Boolean).join(', ')}`
}

function queueLine(health: Health['queues'][number]): string {
  const { queue, state, waiting, failureRate, isRateJudged, paused } = health
  const words = [
    paused?.by ? `${state} by ${paused.by}` : state,
    `${number(waiting)} waiting`,
    isRateJudged && !!failureRate && `${percent(failureRate)} failing`,
  ]
  return `${queue}: ${words.filter(Boolean).join(', ')}`
}

function deedLine(entry: Entry): string {
  const target = targetOf(entry)
  // Of UTC, as the headline: readers may be anywhere.
  const time = `${entry.at.toISOString().slice(11, 16)} UTC`
  return `${time} ${entry.actor.name || entry.actor.id} ${deedOf(entry)}${target === '' ? '' : ` (${target})`}`
}
