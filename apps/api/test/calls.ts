import { randomUUID } from 'node:crypto'
import { newJobId } from '@oncue/core'
import type { Route } from '../src/http/rest/routes.ts'
import type { Access } from '../src/procedures/procedure.ts'
import type { ProcedurePath } from '../src/procedures/table.ts'
import { Browser } from './push-service.ts'
import type { World } from './test-server.ts'

export interface ProcedureCall {
  /** The access of a procedure that `anyone` may call and that checks for itself. */
  readonly access?: Access
  /** A valid input with as many fields as possible. Creates what it refers to. */
  readonly input: (world: World) => unknown
  /** Other valid inputs, with fields that exclude those of the first. */
  readonly also?: (world: World) => readonly unknown[]
  /** Fields without which it is refused. */
  readonly required?: readonly string[]
  /** A change that works without any input. */
  readonly needsNothing?: true
  /** Texts that may be anything, by the ends of their paths: stored or compared as they are. */
  readonly free?: readonly string[]
}

export interface RouteCall {
  readonly path?: (world: World) => Promise<string>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: (world: World) => unknown
  readonly required?: readonly string[]
  /** Texts that may be anything. */
  readonly free?: readonly string[]
  readonly status: number
}

const DAY_AGO = new Date(Date.now() - 86_400_000)
const JOB = { topic: 'mail', payload: { userId: '123' } }
const none = () => undefined
const named = async (world: World) => ({ name: await world.schedule() })

/** Filters that match nothing. */
const byFilter = () => [
  {
    filter: {
      ...{ status: 'failed', queue: 'none', topic: 'nothing', fingerprint: 'beef', idPrefix: 'ffff' },
      ...{ createdFrom: DAY_AGO, createdTo: new Date(), payloadText: 'x' },
      ...{ idSuffix: 'ffff', errorText: 'x' },
    },
    asOf: new Date(),
  },
]

/** Two failed jobs, and every filter for them that does not need an admin. */
async function failedJobs(world: World) {
  const queue = `q${randomUUID()}`
  for (let n = 0; n < 2; n++) await world.job('failed', queue)
  const filter = {
    ...{ status: 'failed', queue, topic: 'mail', fingerprint: 'f00d', idPrefix: '0' },
    ...{ createdFrom: DAY_AGO, createdTo: new Date(Date.now() + 60_000) },
  }
  return { action: 'requeue', filter, asOf: await world.store.now() }
}

/** Superjson refuses to send one object twice. */
const aJob = () => structuredClone(JOB)

/** A failed job, as a caller read it. */
async function asRead(world: World, id?: string) {
  const job = await world.store.get(id ?? (await world.job('failed')))
  return { id: job?.id, run: job?.run, updated: job?.updated }
}

const aBulkOperation = async (world: World) => ({ id: await world.bulkOperation() })
const anAlert = async (world: World) => ({ id: await world.alert() })
const aRule = async (world: World) => ({ id: await world.alertRule() })
const RULE = { name: 'late', threshold: 300, forSeconds: 60, enabled: true }

/** A valid call of each procedure. The compiler reports one that is missing here. */
export const PROCEDURE_CALLS: Readonly<Record<ProcedurePath, ProcedureCall>> = {
  'jobs.enqueue': {
    input: () => ({
      ...JOB,
      queue: 'default',
      priority: 1,
      runAt: new Date(),
      maxRetries: 2,
      timeoutMs: 1_000,
    }),
    also: () => [
      {
        ...{
          topic: 'mail',
          payload: JOB.payload,
          delay: 5,
          retry: { strategy: 'fixed', baseDelay: 1, max: 2 },
        },
        ...{
          unique: { key: 'k', within: 5, onConflict: 'existing' },
          idempotencyKey: 'i',
          onParentFailure: 'wait',
        },
        ...{ concurrencyKey: 'c', concurrencyLimit: 2, after: [], trace: '00-1-2-03' },
        parentId: newJobId(),
      },
    ],
    required: ['topic'],
    free: ['key', 'idempotencyKey', 'concurrencyKey', 'trace'],
  },
  'jobs.enqueueMany': {
    input: () => ({ jobs: [{ ...JOB, queue: 'default' }], atomic: true }),
    required: ['jobs'],
  },
  'jobs.batch': {
    // biome-ignore lint/suspicious/noThenProperty: it is no function, so no promise takes it for one
    input: () => ({ jobs: [aJob()], then: aJob(), onFailure: aJob() }),
    required: ['jobs'],
  },
  'jobs.flow': {
    input: () => ({ nodes: { first: aJob(), second: aJob() }, edges: [['first', 'second']] }),
    required: ['nodes'],
  },
  'jobs.tree': {
    input: async (world) => ({ id: await world.job('pending') }),
    required: ['id'],
  },
  'jobs.get': {
    input: async (world) => ({ id: await world.job('failed') }),
    required: ['id'],
  },
  'jobs.explain': {
    input: async (world) => ({ id: await world.job('pending') }),
    required: ['id'],
  },
  'jobs.family': {
    input: async (world) => ({ id: await world.job('pending') }),
    required: ['id'],
  },
  'jobs.list': {
    input: () => ({
      ...{ status: 'failed', queue: 'default', topic: 'mail', meta: { a: 'b' }, fingerprint: 'f00d' },
      ...{ createdFrom: DAY_AGO, createdTo: new Date(), idPrefix: '019', limit: 10, offset: 0 },
      ...{ idSuffix: 'ffff', errorText: 'x' },
    }),
    // Admins only.
    also: () => [{ createdFrom: DAY_AGO, payloadText: 'x' }],
  },
  'jobs.stats': { input: () => ({ queue: 'default', topic: 'mail' }) },
  'jobs.failures': {
    input: () => ({
      ...{
        queue: 'default',
        topic: 'mail',
        since: DAY_AGO,
        newSince: new Date(DAY_AGO),
        fingerprint: 'f00d',
        text: 'no user',
        sort: 'largest',
        limit: 10,
      },
    }),
    free: ['fingerprint', 'text'],
  },
  'jobs.series': {
    input: () => ({ queue: 'default', topic: 'mail', from: DAY_AGO, to: new Date(), stepMinutes: 5 }),
    required: ['from', 'to'],
  },
  'jobs.gauges': {
    input: () => ({ queue: 'default', from: DAY_AGO, to: new Date(), stepMinutes: 5 }),
    required: ['from', 'to'],
  },
  'jobs.events': {
    input: async (world) => ({ id: await world.job('failed'), afterVersion: 0, limit: 10 }),
    required: ['id'],
  },
  'jobs.requeue': {
    input: async (world) => ({ ids: [await world.job('failed')] }),
    also: byFilter,
    required: ['ids'],
    free: ['fingerprint', 'idPrefix', 'payloadText', 'errorText'],
  },
  'jobs.requeueWithPayload': {
    input: async (world) => ({ ...(await asRead(world)), payload: { userId: '456' } }),
    required: ['id', 'run', 'updated', 'payload'],
  },
  'jobs.requeueFrom': {
    input: async (world) => ({ id: await world.job('failed'), step: null }),
    required: ['id', 'step'],
    free: ['step'],
  },
  'jobs.signal': {
    input: async (world) => ({
      id: await world.job('pending'),
      name: 'bank',
      data: { ok: true },
      key: 'once',
    }),
    required: ['id', 'name', 'data'],
    free: ['name', 'key'],
  },
  'jobs.answer': {
    input: async (world) => ({ id: await world.asking(), name: 'approve', value: { ok: true }, key: 'once' }),
    required: ['id', 'name', 'value'],
    free: ['name', 'key'],
  },
  'jobs.questions': {
    input: async (world) => ({ id: await world.asking(), topic: 'mail', limit: 10 }),
  },
  'jobs.timeline': { input: async (world) => ({ id: await world.asking() }), required: ['id'] },
  'jobs.runNow': {
    input: async (world) => ({ ids: [await world.job('scheduled')] }),
    also: byFilter,
    required: ['ids'],
    free: ['fingerprint', 'idPrefix', 'payloadText', 'errorText'],
  },
  'jobs.cancel': {
    input: async (world) => ({ ids: [await world.job('pending')] }),
    also: byFilter,
    required: ['ids'],
    free: ['fingerprint', 'idPrefix', 'payloadText', 'errorText'],
  },
  'jobs.delete': {
    input: async (world) => ({ ids: [await world.job('failed')] }),
    also: byFilter,
    required: ['ids'],
    free: ['fingerprint', 'idPrefix', 'payloadText', 'errorText'],
  },
  'jobs.watch': {
    input: async (world) => ({ id: await world.job('completed'), lastEventId: null }),
    required: ['id'],
  },
  'jobs.wait': {
    input: async (world) => ({ id: await world.job('completed'), timeoutMs: 0 }),
    required: ['id'],
  },
  'bulkOperations.preview': { input: failedJobs, required: ['action', 'filter'] },
  'bulkOperations.run': {
    // Spread so long that the audit entry of its end does not appear during the test.
    input: async (world) => ({
      ...(await failedJobs(world)),
      ...{ expectedCount: 2, idempotencyKey: randomUUID(), spreadSeconds: 3_600 },
      ...{ canary: { count: 2, maxFailed: 1 }, stopWhenFailing: 0.5 },
    }),
    required: ['action', 'filter', 'asOf', 'expectedCount', 'idempotencyKey'],
    free: ['fingerprint', 'idPrefix', 'idempotencyKey'],
  },
  'bulkOperations.get': { input: aBulkOperation, required: ['id'] },
  'bulkOperations.list': { input: () => ({ status: 'running', limit: 10 }) },
  'bulkOperations.stop': { input: aBulkOperation, required: ['id'] },
  'bulkOperations.watch': {
    input: async (world) => ({ ...(await aBulkOperation(world)), lastEventId: null, outcomes: true }),
    required: ['id'],
  },
  'queues.list': { input: none },
  'queues.explain': { input: () => ({ queue: 'default' }), required: ['queue'] },
  'queues.pause': { input: () => ({ queue: 'idle', forSeconds: 60 }), required: ['queue'] },
  'queues.resume': { input: () => ({ queue: 'idle' }), required: ['queue'] },
  'queues.limit': {
    input: () => ({ queue: 'idle', limit: { maxRunning: 5, rate: { count: 10, intervalMs: 1_000 } } }),
    also: () => [
      { concurrencyKey: 'k', limit: { maxRunning: 5 } },
      { queue: 'idle', limit: { rate: { count: 1, intervalMs: 1 } } },
    ],
    required: ['queue', 'limit'],
    free: ['concurrencyKey'],
  },
  'queues.configure': {
    input: () => ({ queue: 'idle', ageingMs: 1_000 }),
    required: ['queue', 'ageingMs'],
  },
  'workers.list': { input: () => ({ ended: true }) },
  'workers.get': { input: async (world) => ({ id: await world.worker() }), required: ['id'] },
  'topics.list': { input: none },
  'schedules.list': { input: none },
  'schedules.preview': {
    input: () => ({ cron: '0 9 * * *', timezone: 'UTC', count: 3 }),
    required: ['cron'],
  },
  'schedules.save': {
    input: () => ({
      ...JOB,
      name: 'nightly',
      cron: '0 9 * * *',
      timezone: 'UTC',
      options: {},
      missed: 'skip',
      takeOver: true,
    }),
    required: ['name', 'cron', 'topic'],
  },
  'schedules.remove': { input: named, required: ['name'] },
  'schedules.pause': { input: named, required: ['name'] },
  'schedules.resume': { input: named, required: ['name'] },
  'schedules.runNow': { input: named, required: ['name'] },
  'tokens.list': { input: () => ({ kind: 'token', ended: false }) },
  'tokens.create': {
    input: () => ({
      name: 'a service',
      role: 'producer',
      allowedTopics: ['mail'],
      allowedQueues: ['bulk_*'],
      expiresAt: null,
    }),
    required: ['name', 'role'],
    free: ['name'],
  },
  'tokens.revoke': {
    input: async (world) => ({ id: (await world.newToken('viewer')).id }),
    required: ['id'],
  },
  'tokens.me': { input: none },
  'audit.list': {
    input: () => ({
      ...{ actorId: 'a', actorKind: 'device', action: 'jobs.*', from: DAY_AGO, to: new Date(), limit: 10 },
    }),
  },
  'devices.list': { input: none },
  'devices.rename': {
    input: async (world) => ({ id: await world.device(), name: 'phone' }),
    required: ['id', 'name'],
    free: ['name'],
  },
  'devices.revoke': {
    access: 'act',
    input: async (world) => ({ id: await world.device() }),
    required: ['id'],
  },
  'devices.registerPush': {
    input: () => ({ pushToken: null }),
    also: () => [{ pushToken: 'ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]' }],
    required: ['pushToken'],
  },
  'devices.webPushKey': { input: none },
  'devices.registerWebPush': {
    input: () => ({ subscription: null }),
    also: () => [{ subscription: new Browser('https://1.1.1.1/push').subscription }],
    required: ['subscription'],
  },
  'devices.testPush': { input: () => ({}), needsNothing: true },
  'alerts.list': { input: () => ({ state: 'open', queue: 'default', limit: 10 }) },
  'alerts.get': { input: anAlert, required: ['id'] },
  'alerts.ack': {
    input: anAlert,
    required: ['id'],
  },
  'alerts.unack': { input: anAlert, required: ['id'] },
  'alerts.snooze': {
    input: async (world) => ({ ...(await anAlert(world)), until: new Date(Date.now() + 3_600_000) }),
    required: ['id', 'until'],
  },
  'alerts.unsnooze': { input: anAlert, required: ['id'] },
  'alerts.watch': { input: () => ({ lastEventId: null }) },
  'alerts.rules': { input: none },
  'alerts.createRule': {
    input: () => ({ ...RULE, kind: 'oldest_waiting', queue: 'default' }),
    required: ['name', 'kind', 'threshold'],
    free: ['name'],
  },
  'alerts.updateRule': {
    input: async (world) => ({ ...(await aRule(world)), ...RULE }),
    required: ['id'],
    free: ['name'],
  },
  'alerts.deleteRule': { input: aRule, required: ['id'] },
  'channels.list': { input: none },
  'channels.create': {
    input: () => ({ kind: 'webhook', name: 'pager', url: 'https://1.1.1.1/hook' }),
    also: () => [
      { kind: 'ntfy', name: 'phone', url: 'https://1.1.1.1/topic', priority: 5, token: 'tk_12345678' },
      { kind: 'pagerduty', name: 'pager', key: 'a'.repeat(32) },
    ],
    required: ['kind', 'name', 'url'],
    free: ['name'],
  },
  'channels.update': {
    input: async (world) => ({ id: await world.channel(), name: 'pager', enabled: true }),
    required: ['id'],
    free: ['name'],
  },
  'channels.delete': {
    input: async (world) => ({ id: await world.channel() }),
    required: ['id'],
  },
  'channels.test': {
    input: async (world) => ({ id: await world.channel() }),
    required: ['id'],
  },
  'pairings.create': {
    input: () => ({ role: 'viewer', validSeconds: 60 }),
    needsNothing: true,
  },
  'pairings.exchange': {
    input: async (world) => ({ code: await world.pairingCode(), name: 'phone' }),
    required: ['code', 'name'],
    free: ['name'],
  },
  'settings.get': { input: none },
  'settings.set': {
    input: () => ({ payloadValidation: 'reject', allowedTopics: null }),
    also: () => [
      { httpEnabled: true, enqueueRule: 'producer', manageRule: 'viewer', allowedTopics: ['mail'] },
      { maskedKeys: ['password'], deviceIdleDays: 90, allowedQueues: ['mail'], reset: ['enqueueRule'] },
    ],
    free: ['maskedKeys.0'],
  },
  'database.get': { input: none },
  'health.get': { input: none },
  'health.watch': { input: () => ({ lastEventId: null }) },
}

const pathOf = (path: string, state: Parameters<World['job']>[0]) => async (world: World) =>
  path.replace(':id', await world.job(state))

/** The job of the last path: its body says how that job was read. */
let edited = ''

/** A valid call of each route. */
export const ROUTE_CALLS: Readonly<Record<string, RouteCall>> = {
  'POST /api/jobs/enqueue': {
    body: () => ({ ...JOB, queue: 'default', priority: 1, run_at: '2026-01-08T12:00:00Z', maxRetries: 5 }),
    required: ['topic'],
    status: 201,
  },
  'POST /api/jobs/enqueue/batch': {
    body: () => ({ jobs: [{ ...JOB, queue: 'default' }], atomic: true }),
    required: ['jobs'],
    status: 201,
  },
  'POST /api/batches': {
    // biome-ignore lint/suspicious/noThenProperty: it is no function, so no promise takes it for one
    body: () => ({ jobs: [JOB], then: JOB, onFailure: JOB }),
    required: ['jobs'],
    status: 201,
  },
  'POST /api/flows': {
    body: () => ({ nodes: { first: JOB, second: JOB }, edges: [['first', 'second']] }),
    required: ['nodes'],
    status: 201,
  },
  'GET /api/jobs': {
    query: {
      ...{ topic: 'mail', status: 'failed', queue: 'default', fingerprint: 'f00d', id_prefix: '019' },
      ...{ id_suffix: 'ffff', error_text: 'x' },
      ...{
        created_from: '2026-01-01T00:00:00Z',
        created_to: '2099-01-01T00:00:00Z',
        limit: '10',
        offset: '0',
      },
      ...{ 'meta.a': 'b' },
    },
    status: 200,
  },
  'GET /api/jobs/stats': { query: { queue: 'default', topic: 'mail' }, status: 200 },
  'GET /api/failures': {
    query: {
      ...{ topic: 'mail', queue: 'default', fingerprint: 'f00d', text: 'no user', sort: 'largest' },
      ...{ since: '2026-01-01T00:00:00Z', new_since: '2026-01-02T00:00:00Z', limit: '10' },
    },
    status: 200,
  },
  'GET /api/questions': {
    query: { id: '01900000-0000-7000-8000-000000000001', topic: 'mail', limit: '10' },
    status: 200,
  },
  'GET /api/jobs/:id/tree': { path: pathOf('/api/jobs/:id/tree', 'failed'), status: 200 },
  'GET /api/jobs/:id': { path: pathOf('/api/jobs/:id', 'failed'), status: 200 },
  'DELETE /api/jobs/:id': { path: pathOf('/api/jobs/:id', 'failed'), status: 204 },
  'POST /api/jobs/:id/requeue': {
    path: pathOf('/api/jobs/:id/requeue', 'failed'),
    status: 200,
  },
  'POST /api/jobs/:id/signals/:name': {
    path: async (world) => `/api/jobs/${await world.job('pending')}/signals/bank`,
    body: () => ({ ok: true }),
    required: [],
    status: 202,
  },
  'POST /api/jobs/:id/answers/:name': {
    path: async (world) => `/api/jobs/${await world.asking()}/answers/approve`,
    body: () => ({ ok: true }),
    required: [],
    status: 202,
  },
  'GET /api/jobs/:id/timeline': { path: pathOf('/api/jobs/:id/timeline', 'failed'), status: 200 },
  'POST /api/jobs/:id/requeue-from': {
    path: pathOf('/api/jobs/:id/requeue-from', 'failed'),
    body: () => ({ step: null }),
    required: ['step'],
    status: 200,
  },
  'POST /api/jobs/:id/requeue-with-payload': {
    path: async (world) => {
      edited = await world.job('failed')
      return `/api/jobs/${edited}/requeue-with-payload`
    },
    body: async (world) => {
      const { run, updated } = await asRead(world, edited)
      return { run, updated, payload: { userId: '456' } }
    },
    required: ['run', 'updated', 'payload'],
    status: 200,
  },
  'POST /api/jobs/:id/run-now': {
    path: pathOf('/api/jobs/:id/run-now', 'scheduled'),
    status: 200,
  },
  'POST /api/jobs/:id/cancel': {
    path: pathOf('/api/jobs/:id/cancel', 'pending'),
    status: 200,
  },
  'GET /api/database': { status: 200 },
  'GET /api/bulk': { query: { status: 'running', limit: '10' }, status: 200 },
  'GET /api/bulk/:id': {
    path: async (world) => `/api/bulk/${await world.bulkOperation()}`,
    status: 200,
  },
  'POST /api/bulk/preview': {
    body: () => ({
      action: 'requeue',
      filter: {
        ...{ status: 'failed', queue: 'none', created_from: DAY_AGO, created_to: new Date(), id_prefix: '0' },
        ...{ id_suffix: 'ffff', error_text: 'x' },
      },
    }),
    free: ['id_prefix', 'error_text'],
    required: ['action', 'filter'],
    status: 200,
  },
  'POST /api/bulk': {
    body: () => ({
      ...{ action: 'requeue', filter: { status: 'failed', queue: 'none' }, as_of: '2026-01-08T12:00:00Z' },
      ...{ expected_count: 0, idempotency_key: randomUUID(), spread_seconds: 3_600 },
      canary: { count: 5, max_failed: 0 },
    }),
    required: ['action', 'filter', 'as_of', 'expected_count', 'idempotency_key'],
    free: ['idempotency_key'],
    status: 202,
  },
  'POST /api/bulk/:id/stop': {
    path: async (world) => `/api/bulk/${await world.bulkOperation()}/stop`,
    status: 200,
  },
  'POST /api/commands/jobs': {
    body: () => ({ app: 'app', command: 'embed', input: { chunk: 1 } }),
    required: ['app', 'command'],
    status: 202,
  },
  'GET /api/commands/jobs/:id': {
    path: pathOf('/api/commands/jobs/:id', 'completed'),
    status: 200,
  },
  'GET /api/alerts': { query: { state: 'open', queue: 'mail', limit: '10' }, status: 200 },
  'POST /api/alerts/:id/ack': {
    path: async (world) => `/api/alerts/${await world.alert()}/ack`,
    status: 200,
  },
  'GET /api/commands/registry/debug': { status: 200 },
  'GET /api/topics': { status: 200 },
  'GET /api/queues': { status: 200 },
  'POST /api/queues/:queue/pause': {
    path: async () => '/api/queues/idle/pause',
    body: () => ({ for_seconds: 60 }),
    status: 204,
  },
  'POST /api/queues/:queue/resume': { path: async () => '/api/queues/idle/resume', status: 204 },
  'GET /api/queues/:queue/explain': { path: async () => '/api/queues/default/explain', status: 200 },
  'GET /api/workers': { query: { ended: 'true' }, status: 200 },
  'GET /api/workers/:id': {
    path: async (world) => `/api/workers/${await world.worker()}`,
    status: 200,
  },
  'GET /api/health': { status: 200 },
  'GET /api/schedules': { status: 200 },
  'GET /api/schedules/preview': {
    query: { cron: '0 9 * * *', timezone: 'UTC', count: '3' },
    status: 200,
  },
  'POST /api/schedules': {
    body: () => ({
      ...JOB,
      name: 'nightly',
      cron: '0 9 * * *',
      timezone: 'UTC',
      options: {},
      missed: 'skip',
    }),
    required: ['name', 'cron', 'topic'],
    status: 200,
  },
  'DELETE /api/schedules/:name': {
    path: async (world) => `/api/schedules/${await world.schedule()}`,
    status: 204,
  },
  'POST /api/schedules/:name/pause': {
    path: async (world) => `/api/schedules/${await world.schedule()}/pause`,
    status: 204,
  },
  'POST /api/schedules/:name/resume': {
    path: async (world) => `/api/schedules/${await world.schedule()}/resume`,
    status: 204,
  },
  'POST /api/schedules/:name/run-now': {
    path: async (world) => `/api/schedules/${await world.schedule()}/run-now`,
    status: 201,
  },
}

export function callOf(name: ProcedurePath): ProcedureCall {
  return rowOf(PROCEDURE_CALLS, name)
}

export function routeCallOf({ method, path }: Pick<Route, 'method' | 'path'>): RouteCall {
  return rowOf(ROUTE_CALLS, `${method} ${path}`)
}

function rowOf<Row>(rows: Readonly<Record<string, Row>>, name: string): Row {
  const row = rows[name]
  if (row === undefined) throw new Error(`${name} has no row in apps/api/test/calls.ts`)
  return row
}
