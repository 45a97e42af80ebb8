import { randomUUID } from 'node:crypto'
import type { Access } from '../src/procedures/procedure.ts'
import type { World } from './test-server.ts'

export interface ProcedureCall {
  readonly access: Access
  /** One that works, with as many fields as go together; makes what it needs. */
  readonly input: (world: World) => unknown
  /** Other ways to call it, with what does not go with the first. */
  readonly also?: (world: World) => readonly unknown[]
  /** Fields without which it is refused. */
  readonly required?: readonly string[]
  /** A change that works without any input. */
  readonly needsNothing?: true
  /** Texts that may be anything, by the ends of their paths: stored or compared as they are. */
  readonly free?: readonly string[]
}

export interface RouteCall {
  readonly access: Access
  readonly path?: (world: World) => Promise<string>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: (world: World) => unknown
  readonly required?: readonly string[]
  readonly status: number
}

const DAY_AGO = new Date(Date.now() - 86_400_000)
const JOB = { topic: 'mail', payload: { userId: '123' } }
const none = () => undefined
const named = async (world: World) => ({ name: await world.schedule() })

/** Nothing fits it. */
const byFilter = () => [
  {
    filter: {
      ...{ status: 'failed', queue: 'none', topic: 'nothing', fingerprint: 'beef', idPrefix: 'ffff' },
      ...{ createdFrom: DAY_AGO, createdTo: new Date(), payloadText: 'x' },
    },
    asOf: new Date(),
  },
]

/** Two jobs that failed, and all that can be said of them by those who are no admins. */
async function failedJobs(world: World) {
  const queue = `q${randomUUID()}`
  for (let n = 0; n < 2; n++) await world.job('failed', queue)
  const filter = {
    ...{ status: 'failed', queue, topic: 'mail', fingerprint: 'f00d', idPrefix: '0' },
    ...{ createdFrom: DAY_AGO, createdTo: new Date(Date.now() + 60_000) },
  }
  return { action: 'requeue', filter, asOf: await world.store.now() }
}

const aBulkOperation = async (world: World) => ({ id: await world.bulkOperation() })
const anAlert = async (world: World) => ({ id: await world.alert() })
const aRule = async (world: World) => ({ id: await world.alertRule() })
const RULE = { name: 'late', threshold: 300, forSeconds: 60, enabled: true }

/** How each procedure is called. One that is missing here fails the tests that use this table. */
export const PROCEDURE_CALLS: Readonly<Record<string, ProcedureCall>> = {
  'jobs.enqueue': {
    access: 'enqueue',
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
      },
    ],
    required: ['topic'],
    free: ['key', 'idempotencyKey', 'concurrencyKey', 'trace'],
  },
  'jobs.enqueueMany': {
    access: 'enqueue',
    input: () => ({ jobs: [{ ...JOB, queue: 'default' }], atomic: true }),
    required: ['jobs'],
  },
  'jobs.get': {
    access: 'own',
    input: async (world) => ({ id: await world.job('failed') }),
    required: ['id'],
  },
  'jobs.list': {
    access: 'read',
    input: () => ({
      ...{ status: 'failed', queue: 'default', topic: 'mail', meta: { a: 'b' }, fingerprint: 'f00d' },
      ...{ createdFrom: DAY_AGO, createdTo: new Date(), idPrefix: '019', limit: 10, offset: 0 },
    }),
    // Admins only.
    also: () => [{ createdFrom: DAY_AGO, payloadText: 'x' }],
  },
  'jobs.stats': { access: 'read', input: () => ({ queue: 'default', topic: 'mail' }) },
  'jobs.failures': {
    access: 'read',
    input: () => ({
      ...{
        queue: 'default',
        topic: 'mail',
        since: DAY_AGO,
        newSince: new Date(DAY_AGO),
        fingerprint: 'f00d',
        limit: 10,
      },
    }),
    free: ['fingerprint'],
  },
  'jobs.series': {
    access: 'read',
    input: () => ({ queue: 'default', topic: 'mail', from: DAY_AGO, to: new Date(), stepMinutes: 5 }),
    required: ['from', 'to'],
  },
  'jobs.gauges': {
    access: 'read',
    input: () => ({ queue: 'default', from: DAY_AGO, to: new Date(), stepMinutes: 5 }),
    required: ['from', 'to'],
  },
  'jobs.events': {
    access: 'read',
    input: async (world) => ({ id: await world.job('failed'), afterVersion: 0, limit: 10 }),
    required: ['id'],
  },
  'jobs.requeue': {
    access: 'act',
    input: async (world) => ({ ids: [await world.job('failed')] }),
    also: byFilter,
    required: ['ids'],
    free: ['fingerprint', 'idPrefix', 'payloadText'],
  },
  'jobs.cancel': {
    access: 'act',
    input: async (world) => ({ ids: [await world.job('pending')] }),
    also: byFilter,
    required: ['ids'],
    free: ['fingerprint', 'idPrefix', 'payloadText'],
  },
  'jobs.delete': {
    access: 'act',
    input: async (world) => ({ ids: [await world.job('failed')] }),
    also: byFilter,
    required: ['ids'],
    free: ['fingerprint', 'idPrefix', 'payloadText'],
  },
  'jobs.watch': {
    access: 'own',
    input: async (world) => ({ id: await world.job('completed'), lastEventId: null }),
    required: ['id'],
  },
  'jobs.wait': {
    access: 'own',
    input: async (world) => ({ id: await world.job('completed'), timeoutMs: 0 }),
    required: ['id'],
  },
  'operations.preview': { access: 'read', input: failedJobs, required: ['action', 'filter'] },
  'operations.run': {
    access: 'act',
    // Spread so far that its end does not come into the audit behind it.
    input: async (world) => ({
      ...(await failedJobs(world)),
      ...{ expectedCount: 2, idempotencyKey: randomUUID(), spreadSeconds: 3_600 },
    }),
    required: ['action', 'filter', 'asOf', 'expectedCount', 'idempotencyKey'],
    free: ['fingerprint', 'idPrefix', 'idempotencyKey'],
  },
  'operations.get': { access: 'read', input: aBulkOperation, required: ['id'] },
  'operations.list': { access: 'read', input: () => ({ status: 'running', limit: 10 }) },
  'operations.stop': { access: 'act', input: aBulkOperation, required: ['id'] },
  'operations.watch': {
    access: 'read',
    input: async (world) => ({ ...(await aBulkOperation(world)), lastEventId: null }),
    required: ['id'],
  },
  'queues.list': { access: 'read', input: none },
  'queues.pause': { access: 'act', input: () => ({ queue: 'idle' }), required: ['queue'] },
  'queues.resume': { access: 'act', input: () => ({ queue: 'idle' }), required: ['queue'] },
  'queues.limit': {
    access: 'act',
    input: () => ({ queue: 'idle', limit: { maxRunning: 5, rate: { count: 10, intervalMs: 1_000 } } }),
    also: () => [
      { concurrencyKey: 'k', limit: { maxRunning: 5 } },
      { queue: 'idle', limit: { rate: { count: 1, intervalMs: 1 } } },
    ],
    required: ['queue', 'limit'],
    free: ['concurrencyKey'],
  },
  'queues.configure': {
    access: 'act',
    input: () => ({ queue: 'idle', ageingMs: 1_000 }),
    required: ['queue', 'ageingMs'],
  },
  'workers.list': { access: 'read', input: none },
  'topics.list': { access: 'read', input: none },
  'schedules.list': { access: 'read', input: none },
  'schedules.save': {
    access: 'act',
    input: () => ({
      ...JOB,
      name: 'nightly',
      cron: '0 9 * * *',
      timezone: 'UTC',
      options: {},
      missed: 'skip',
    }),
    required: ['name', 'cron', 'topic'],
  },
  'schedules.remove': { access: 'act', input: named, required: ['name'] },
  'schedules.pause': { access: 'act', input: named, required: ['name'] },
  'schedules.resume': { access: 'act', input: named, required: ['name'] },
  'schedules.runNow': { access: 'act', input: named, required: ['name'] },
  'tokens.list': { access: 'admin', input: () => ({ kind: 'token', ended: false }) },
  'tokens.create': {
    access: 'admin',
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
    access: 'admin',
    input: async (world) => ({ id: (await world.newToken('viewer')).id }),
    required: ['id'],
  },
  'tokens.me': { access: 'anyone', input: none },
  'audit.list': {
    access: 'act',
    input: () => ({
      ...{ actorId: 'a', actorKind: 'device', action: 'jobs.*', from: DAY_AGO, to: new Date(), limit: 10 },
    }),
  },
  'devices.list': { access: 'act', input: none },
  'devices.rename': {
    access: 'act',
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
    access: 'read',
    input: () => ({ pushToken: null }),
    also: () => [{ pushToken: 'ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]' }],
    required: ['pushToken'],
  },
  'devices.testPush': { access: 'read', input: () => ({}), needsNothing: true },
  'alerts.list': { access: 'read', input: () => ({ state: 'open', queue: 'default', limit: 10 }) },
  'alerts.get': { access: 'read', input: anAlert, required: ['id'] },
  'alerts.ack': { access: 'act', input: anAlert, required: ['id'] },
  'alerts.unack': { access: 'act', input: anAlert, required: ['id'] },
  'alerts.snooze': {
    access: 'act',
    input: async (world) => ({ ...(await anAlert(world)), until: new Date(Date.now() + 3_600_000) }),
    required: ['id', 'until'],
  },
  'alerts.unsnooze': { access: 'act', input: anAlert, required: ['id'] },
  'alerts.watch': { access: 'read', input: () => ({ lastEventId: null }) },
  'alerts.rules': { access: 'read', input: none },
  'alerts.createRule': {
    access: 'admin',
    input: () => ({ ...RULE, kind: 'oldest_waiting', queue: 'default' }),
    required: ['name', 'kind', 'threshold'],
    free: ['name'],
  },
  'alerts.updateRule': {
    access: 'admin',
    input: async (world) => ({ ...(await aRule(world)), ...RULE }),
    required: ['id'],
    free: ['name'],
  },
  'alerts.deleteRule': { access: 'admin', input: aRule, required: ['id'] },
  'channels.list': { access: 'read', input: none },
  'channels.create': {
    access: 'admin',
    input: () => ({ kind: 'webhook', name: 'pager', url: 'https://1.1.1.1/hook' }),
    required: ['kind', 'name', 'url'],
    free: ['name'],
  },
  'channels.update': {
    access: 'admin',
    input: async (world) => ({ id: await world.channel(), name: 'pager', enabled: true }),
    required: ['id'],
    free: ['name'],
  },
  'channels.delete': {
    access: 'admin',
    input: async (world) => ({ id: await world.channel() }),
    required: ['id'],
  },
  'channels.test': {
    access: 'act',
    input: async (world) => ({ id: await world.channel() }),
    required: ['id'],
  },
  'pairings.create': {
    access: 'act',
    input: () => ({ role: 'viewer', validSeconds: 60 }),
    needsNothing: true,
  },
  'pairings.exchange': {
    access: 'anyone',
    input: async (world) => ({ code: await world.pairingCode(), name: 'phone' }),
    required: ['code', 'name'],
    free: ['name'],
  },
  'settings.get': { access: 'admin', input: none },
  'settings.set': {
    access: 'admin',
    input: () => ({ payloadValidation: 'reject', allowedTopics: null }),
    also: () => [
      { httpEnabled: true, enqueueRule: 'producer', manageRule: 'viewer', allowedTopics: ['mail'] },
      { maskedKeys: ['password'], deviceIdleDays: 90, allowedQueues: ['mail'], reset: ['enqueueRule'] },
    ],
    free: ['maskedKeys.0'],
  },
  'health.get': { access: 'read', input: none },
  'health.watch': { access: 'read', input: () => ({ lastEventId: null }) },
}

const pathOf = (path: string, state: Parameters<World['job']>[0]) => async (world: World) =>
  path.replace(':id', await world.job(state))

/** How each route is called. */
export const ROUTE_CALLS: Readonly<Record<string, RouteCall>> = {
  'POST /api/jobs/enqueue': {
    access: 'enqueue',
    body: () => ({ ...JOB, queue: 'default', priority: 1, run_at: '2026-01-08T12:00:00Z', maxRetries: 5 }),
    required: ['topic'],
    status: 201,
  },
  'POST /api/jobs/enqueue/batch': {
    access: 'enqueue',
    body: () => ({ jobs: [{ ...JOB, queue: 'default' }], atomic: true }),
    required: ['jobs'],
    status: 201,
  },
  'GET /api/jobs': {
    access: 'read',
    query: {
      ...{ topic: 'mail', status: 'failed', queue: 'default', fingerprint: 'f00d', id_prefix: '019' },
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
  'GET /api/jobs/stats': { access: 'read', query: { queue: 'default', topic: 'mail' }, status: 200 },
  'GET /api/jobs/:id': { access: 'own', path: pathOf('/api/jobs/:id', 'failed'), status: 200 },
  'DELETE /api/jobs/:id': { access: 'act', path: pathOf('/api/jobs/:id', 'failed'), status: 204 },
  'POST /api/jobs/:id/requeue': {
    access: 'act',
    path: pathOf('/api/jobs/:id/requeue', 'failed'),
    status: 200,
  },
  'POST /api/jobs/:id/cancel': {
    access: 'act',
    path: pathOf('/api/jobs/:id/cancel', 'pending'),
    status: 200,
  },
  'POST /api/commands/jobs': {
    access: 'enqueue',
    body: () => ({ app: 'app', command: 'embed', input: { chunk: 1 } }),
    required: ['app', 'command'],
    status: 202,
  },
  'GET /api/commands/jobs/:id': {
    access: 'own',
    path: pathOf('/api/commands/jobs/:id', 'completed'),
    status: 200,
  },
  'GET /api/alerts': { access: 'read', query: { state: 'open', queue: 'mail', limit: '10' }, status: 200 },
  'POST /api/alerts/:id/ack': {
    access: 'act',
    path: async (world) => `/api/alerts/${await world.alert()}/ack`,
    status: 200,
  },
  'GET /api/commands/registry/debug': { access: 'read', status: 200 },
}
