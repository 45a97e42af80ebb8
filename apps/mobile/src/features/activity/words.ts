import { count, moment, number, shortId } from '../../lib/format.ts'
import { scopeOf, skippedOf, spreadInWords } from '../bulk-operations/words.ts'
import type { Entry } from './queries.ts'

/** Subjects of actions, as the filter names them. */
export const GROUPS = {
  bulkOperations: 'Bulk operations',
  jobs: 'Jobs',
  queues: 'Queues',
  schedules: 'Schedules',
  alerts: 'Alerts',
  channels: 'Channels',
  devices: 'Devices',
  pairings: 'Pairing',
  tokens: 'Tokens',
  session: 'Sign-ins',
  settings: 'Settings',
} as const

/** The verb, and which part of the target it was done to. */
const ACTIONS: Readonly<Record<string, readonly [verb: string, of?: string]>> = {
  'alerts.ack': ['acknowledged an alert'],
  'alerts.createRule': ['added a rule', 'name'],
  'alerts.deleteRule': ['deleted a rule'],
  'alerts.snooze': ['snoozed an alert'],
  'alerts.unack': ['unacknowledged an alert'],
  'alerts.unsnooze': ['unsnoozed an alert'],
  'alerts.updateRule': ['changed a rule', 'name'],
  'channels.create': ['added a channel', 'name'],
  'channels.delete': ['removed a channel'],
  'channels.test': ['tested a channel'],
  'channels.update': ['changed a channel', 'name'],
  'devices.registerPush': ['changed its own notifications'],
  'devices.rename': ['renamed a device to', 'name'],
  'devices.revoke': ['revoked a device'],
  'devices.testPush': ['sent itself a test notification'],
  'jobs.answer': ['answered the question', 'question'],
  'jobs.signal': ['sent the signal', 'signal'],
  'pairings.create': ['created a pairing code for', 'role'],
  'pairings.exchange': ['paired a device', 'name'],
  'pairings.refused': ['entered a wrong pairing code'],
  'queues.configure': ['configured', 'queue'],
  'queues.limit': ['changed the limit of', 'queue'],
  'queues.pause': ['paused', 'queue'],
  'queues.resume': ['resumed', 'queue'],
  'schedules.pause': ['paused a schedule', 'name'],
  'schedules.remove': ['removed a schedule', 'name'],
  'schedules.resume': ['resumed a schedule', 'name'],
  'schedules.runNow': ['ran a schedule', 'name'],
  'schedules.save': ['saved a schedule', 'name'],
  'session.create': ['signed in'],
  'session.end': ['signed out'],
  'session.refused': ['failed to sign in'],
  'settings.set': ['changed settings'],
  'tokens.create': ['created a token', 'name'],
  'tokens.revoke': ['revoked a token', 'name'],
}

const JOBS: Readonly<Record<string, string>> = {
  'jobs.cancel': 'cancelled',
  'jobs.delete': 'deleted',
  'jobs.enqueue': 'enqueued',
  'jobs.enqueueMany': 'enqueued',
  'jobs.requeue': 'retried',
  'jobs.requeueWithPayload': 'retried',
  'jobs.requeueFrom': 'retried',
  'jobs.runNow': 'ran',
}

const HOW: Readonly<Record<string, string>> = {
  'jobs.requeueWithPayload': ' with another payload',
  'jobs.requeueFrom': ' from an earlier step',
  'jobs.runNow': ' now',
}

const DONE: Readonly<Record<string, string>> = {
  cancel: 'cancelled',
  delete: 'deleted',
  requeue: 'retried',
  run_now: 'ran',
}

const DOING: Readonly<Record<string, string>> = {
  cancel: 'cancelling',
  delete: 'deleting',
  requeue: 'retrying',
  run_now: 'running',
}

/** "paused mail", "retried 312 jobs"; an action that this app does not know stays as it is written. */
export function deedOf({ action, target, count: many }: Pick<Entry, 'action' | 'target' | 'count'>): string {
  const jobs = JOBS[action]
  const now = HOW[action] ?? ''
  if (jobs) return `${jobs} ${count(many ?? 0, 'job')}${about(target, 'topic', ' of')}${now}`
  if (action.startsWith('bulkOperations.')) return bulkDeed(action, target, many ?? 0)
  if (action === 'tokens.revoke') return revokeDeed(target)
  const [verb = action, of] = ACTIONS[action] ?? []
  const value = of === undefined ? undefined : part(target, of)
  if (value === undefined) return verb
  return of === 'name' ? `${verb.replace(' a ', ' ')} “${value}”` : `${verb} ${value}`
}

function bulkDeed(action: string, target: unknown, many: number): string {
  const verb = part(target, 'action')
  const jobs = count(many, 'job')
  if (action === 'bulkOperations.end') return `${DONE[verb ?? ''] ?? 'ended'} ${jobs} in bulk`
  return action === 'bulkOperations.stop'
    ? `stopped a bulk operation after ${jobs}`
    : `started ${DOING[verb ?? ''] ?? 'acting on'} ${jobs}`
}

function revokeDeed(target: unknown): string {
  const name = part(target, 'name')
  const devices = Number(part(target, 'devices') ?? 0)
  const token = name === undefined ? 'a token' : `token “${name}”`
  return `revoked ${token}${devices > 0 ? ` and its ${count(devices, 'device')}` : ''}`
}

function about(target: unknown, name: string, before: string): string {
  const value = part(target, name)
  return value === undefined ? '' : `${before} ${value}`
}

/** What an entry is about and can be opened: a bulk operation, a job, a queue, an alert. */
export function subjectOf({ action, target }: Pick<Entry, 'action' | 'target'>): Subject | null {
  const [noun] = action.split('.')
  const id = part(target, 'id')
  if (noun === 'bulkOperations' && id !== undefined)
    return { param: 'bulkOperationId', value: id, name: 'bulk operation' }
  if (noun === 'alerts' && id !== undefined && !/rule/i.test(action))
    return { param: 'alertId', value: id, name: 'alert' }
  const queue = part(target, 'queue')
  if (noun === 'queues' && queue !== undefined) return { param: 'queue', value: queue, name: 'queue' }
  const ids = isRecord(target) && Array.isArray(target.ids) ? target.ids : []
  const job = ids.length === 1 ? String(ids[0]) : noun === 'jobs' ? id : undefined
  // A deleted job has no page.
  return job === undefined || action === 'jobs.delete' ? null : { param: 'jobId', value: job, name: 'job' }
}

export interface Subject {
  readonly param: 'bulkOperationId' | 'alertId' | 'queue' | 'jobId'
  readonly value: string
  readonly name: string
}

type Target = Readonly<Record<string, unknown>> & { readonly filterError?: Parameters<typeof scopeOf>[1] }

/** How each part of the target is worded, after the deed. */
const PARTS: Readonly<Record<string, (value: unknown, target: Target) => string>> = {
  filter: (filter, { filterError }) => (isRecord(filter) ? scopeOf(filter, filterError) : ''),
  queue: String,
  topic: String,
  cron: String,
  kind: (kind) => String(kind).replaceAll('_', ' '),
  role: (role) => `as ${role}`,
  until: (at) => `until ${moment(new Date(String(at)))}`,
  spreadSeconds: (seconds) => (Number(seconds) > 0 ? spreadInWords(Number(seconds)) : ''),
  skipped: (skipped) => (isSkipped(skipped) ? skippedInWords(skippedOf({ skipped })) : ''),
  delivered: (isDelivered) => (isDelivered === true ? 'delivered' : 'not delivered'),
  failed: (code) => `then ${code}`,
  ids: (ids) => (Array.isArray(ids) ? idsInWords(ids) : ''),
}

const MAX_IDS = 2

function idsInWords(ids: readonly unknown[]): string {
  const named = ids.slice(0, MAX_IDS).map((id) => shortId(String(id)))
  return named.join(', ') + (ids.length > MAX_IDS ? ', …' : '')
}

const skippedInWords = (many: number) => (many === 0 ? '' : `skipped ${number(many)}`)

const isSkipped = (value: unknown): value is Readonly<Record<string, number>> =>
  isRecord(value) && Object.values(value).every((many) => typeof many === 'number')

/** "failed jobs in mail · spread over 10 min": the parts of the target that `deedOf` has not named. */
export function targetOf({ action, target }: Pick<Entry, 'action' | 'target'>): string {
  if (!isRecord(target)) return ''
  const said = action in JOBS ? 'topic' : ACTIONS[action]?.[1]
  const words = Object.entries(PARTS).map(([name, inWords]) => {
    const value = target[name]
    return name === said || value === undefined || value === null ? '' : inWords(value, target)
  })
  const isNamed = said !== undefined && said in target
  const isTold = isNamed || words.some(Boolean) || action.startsWith('session.')
  const id = isTold ? undefined : part(target, 'id')
  return [...words, id === undefined ? '' : shortId(id)].filter(Boolean).join(' · ')
}

const isRecord = (value: unknown): value is Target =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function part(target: unknown, name: string): string | undefined {
  if (!isRecord(target)) return undefined
  const value = target[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

const REASONS: Readonly<Record<string, string>> = {
  UNAUTHORIZED: 'The token is wrong, expired or revoked',
  PAIRING_REFUSED: 'The code is wrong, used or expired',
}

/** Why an attempt was refused. Null: the entry is no refusal. */
export function reasonOf({ action, target }: Pick<Entry, 'action' | 'target'>): string | null {
  const code = action.endsWith('.refused') ? part(target, 'reason') : undefined
  return code === undefined ? null : (REASONS[code] ?? code)
}

const KINDS: Readonly<Record<string, string>> = {
  command: 'by the command',
  device: 'from a paired device',
  host: 'from your application',
  jwt: 'with a JWT',
  session: 'from a browser',
  token: 'with a token',
}

/** Browsers by their mark in the user agent. The first match counts: Edge also claims to be Chrome and Safari. */
const BROWSERS = { 'Edg/': 'Edge', 'Firefox/': 'Firefox', 'Chrome/': 'Chrome', 'Safari/': 'Safari' }
const SYSTEMS = {
  ...{ iPhone: 'iPhone', iPad: 'iPad', Android: 'Android' },
  ...{ Windows: 'Windows', 'Mac OS': 'Mac', Linux: 'Linux' },
}

/** "from Firefox on Linux", "with a token"; without credentials only the address is known. */
export function deviceOf({ actor, userAgent, ip }: Pick<Entry, 'actor' | 'userAgent' | 'ip'>): string {
  const kind =
    actor.kind === 'anonymous' ? `from ${ip ?? 'an unknown address'}` : (KINDS[actor.kind] ?? actor.kind)
  const named = (names: object) => Object.entries(names).find(([sign]) => userAgent?.includes(sign))?.[1]
  const place = [named(BROWSERS), named(SYSTEMS)].filter((word) => word !== undefined).join(' on ')
  if (place === '') return kind
  if (actor.kind === 'session') return `from ${place}`
  return actor.kind === 'token' || actor.kind === 'jwt' ? `${kind} from ${place}` : `${kind}, ${place}`
}
