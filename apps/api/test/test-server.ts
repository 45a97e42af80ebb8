import { randomUUID } from 'node:crypto'
import { type JobError, newJobId, prepareJob } from '@oncue/core'
import type { AlertEpisode } from '@oncue/db'
import type { Dialect } from '@oncue/db/testing'
import { silentLogger } from '@oncue/runtime'
import superjson from 'superjson'
import { hashSecret, newSecret } from '../src/auth/secret.ts'
import type { Procedure } from '../src/procedures/procedure.ts'
import { BY_PATH } from '../src/procedures/table.ts'
import { expectDocumented } from './documented.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { ADMIN_TOKEN, startServer, TestServer } from './support/index.ts'

export const PEOPLE = ['producer', 'viewer', 'operator', 'admin'] as const
/**
 * `narrow` is an operator who may enqueue only `allowed.*`; `guest` has a JWT without a role, if there is an identity
 * provider; `nobody` has no token.
 */
export type Person = (typeof PEOPLE)[number] | 'narrow' | 'guest' | 'expired' | 'revoked' | 'wrong' | 'nobody'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
  /** The error, in either shape. */
  readonly error:
    | { code: string; message: string; hint: string; details?: Record<string, unknown> }
    | undefined
}

export interface Sending {
  readonly as?: Person
  readonly headers?: Record<string, string>
  /** JSON; a text is sent as it is. */
  readonly body?: unknown
}

/** Every procedure there is. */
export const PROCEDURES = [...BY_PATH.values()].map(({ path: name, kind: type, access }) => ({
  name,
  type,
  access,
}))

/** Procedures that check the caller themselves, and are refused by no rule. */
export const OPEN: readonly string[] = PROCEDURES.flatMap(({ name, access }) =>
  access === 'anyone' ? name : [],
)

const ERROR: JobError = { class: 'TypeError', message: 'no user', fingerprint: 'f00d' }
const WORKER = '01900000-0000-7000-8000-00000000000a'

/** A server over a real database, people with tokens, and jobs in every state. */
export class World extends TestServer {
  readonly #tokens: ReadonlyMap<Person, string>
  /** What the server logged as its own fault. */
  readonly faults: unknown[]

  private constructor(
    started: ConstructorParameters<typeof TestServer>[0],
    tokens: Map<Person, string>,
    faults: unknown[],
  ) {
    super(started)
    this.#tokens = tokens
    this.faults = faults
  }

  static async open(dialect: Dialect, provider?: IdentityProvider): Promise<World> {
    const faults: unknown[] = []
    const started = await startServer({
      database: dialect,
      env: {
        ONCUE_RATE_LIMIT: '1000000000',
        ONCUE_RATE_LIMIT_ADDRESS: '1000000000',
        ONCUE_RATE_LIMIT_SEARCH: '1000000000',
        ...provider?.env,
      },
      log: { ...silentLogger, error: (fields: object) => faults.push(fields) },
      // Nothing changes in the background during a test.
      background: false,
    })
    const tokens = new Map<Person, string>([
      ['admin', ADMIN_TOKEN],
      ['wrong', newSecret()],
    ])
    const world = new World(started, tokens, faults)
    for (const role of ['producer', 'viewer', 'operator'] as const) tokens.set(role, await world.secret(role))
    tokens.set('narrow', await world.secret('operator', { allowedTopics: ['allowed.*'] }))
    tokens.set('expired', await world.secret('admin', { expiresAt: new Date(Date.now() - 1_000) }))
    const revoked = newSecret()
    await world.store.tokens.revoke((await world.newToken('admin', {}, revoked)).id)
    tokens.set('revoked', revoked)
    if (provider) tokens.set('guest', await provider.sign({ exp: Math.floor(Date.now() / 1_000) + 3_600 }))
    await world.store.announce([
      {
        topic: 'mail',
        input: { type: 'object', required: ['userId'] },
        output: {},
        policy: {
          signals: {
            bank: {
              type: 'object',
              properties: { ok: { type: 'boolean' } },
              required: ['ok'],
              additionalProperties: false,
            },
          },
        },
      },
      { topic: 'app:embed', input: {}, output: {}, policy: {} },
    ])
    return world
  }

  tokenOf(person: Person): string | undefined {
    return this.#tokens.get(person)
  }

  newToken(role: (typeof PEOPLE)[number], options: object = {}, secret = newSecret()) {
    return this.control.tokens.create({
      ...{ kind: 'token', name: `the ${role}`, role, hash: hashSecret(secret), allowedTopics: null },
      ...{ createdBy: 'test', expiresAt: null, ...options },
    })
  }

  /** A new token of this role. */
  async secret(role: (typeof PEOPLE)[number], options?: object): Promise<string> {
    const secret = newSecret()
    await this.newToken(role, options, secret)
    return secret
  }

  /** In its own queue, so that no other test claims it. */
  async job(
    state: 'pending' | 'scheduled' | 'processing' | 'completed' | 'failed',
    queue = `q${randomUUID()}`,
  ): Promise<string> {
    const options = { queue, ...(state === 'scheduled' && { delay: 3_600_000 }) }
    const [id = newJobId()] = await this.store.enqueue([prepareJob('mail', { userId: '123' }, options)])
    if (state === 'pending' || state === 'scheduled') return id
    const claimed = await this.store.claim({ queues: [queue], limit: 1, worker: WORKER, leaseMs: 600_000 })
    const { run = 0 } = claimed.jobs[0] ?? {}
    if (state === 'completed') await this.store.settle([{ id, run, kind: 'complete', result: '{"sent":1}' }])
    if (state === 'failed') await this.store.settle([{ id, run, kind: 'fail', error: ERROR }])
    return id
  }

  /** A job that asks something. */
  async asking(): Promise<string> {
    const id = await this.job('processing')
    const schema = {
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    }
    const data = JSON.stringify({ name: 'approve', question: 'Send it?', schema, role: 'operator' })
    const outcomes = [{ key: 'ask:approve', kind: 'ask', data }] as const
    await this.store.durable.record([{ id, run: 1, after: 0, outcomes }])
    return id
  }

  async pairingCode(): Promise<string> {
    const { code } = await this.store.pairings.create({
      ...{ role: 'viewer', createdBy: 'test', validMs: 60_000 },
    })
    return code
  }

  /** A device that every operator may change. */
  async device(): Promise<string> {
    const code = await this.pairingCode()
    const { id } = await this.store.pairings.exchange({ code, name: 'phone', hash: hashSecret(newSecret()) })
    return id
  }

  /** A channel to which nothing is ever sent: its address is not public. */
  async channel(): Promise<string> {
    const { id } = await this.control.channels.create({
      ...{ kind: 'webhook', name: 'pager', address: 'https://127.0.0.1/hook' },
    })
    return id
  }

  /** A bulk operation that has ended, so that nothing changes in the background. */
  async bulkOperation(): Promise<string> {
    const { id } = await this.control.bulkOperations.create({
      ...{ action: 'requeue', filter: { status: 'failed' }, asOf: new Date(), spreadMs: 0 },
      ...{ idempotencyKey: randomUUID(), actor: { id: 't1', name: 'Ada', kind: 'token' } },
      ...{ total: 0, totalIsExact: true },
    })
    await this.control.bulkOperations.stop(id, 'Ada')
    return id
  }

  async alertRule(): Promise<string> {
    const { id } = await this.control.alertRules.create({
      ...{ name: 'paused', kind: 'paused', queue: null, threshold: 0, forMs: 0, enabled: true },
    })
    return id
  }

  /** A firing alert. */
  async alert(): Promise<string> {
    const now = await this.store.now()
    const queue = `q${randomUUID()}`
    const after: AlertEpisode = {
      ...{ ruleId: await this.alertRule(), kind: 'paused', queue, status: 'firing', value: 60, threshold: 0 },
      ...{ summary: `${queue}: paused for 1 min (limit 0 s)`, heldFor: [queue], since: now, firedAt: now },
      ...{ topic: null, fingerprint: null, groupId: null },
      ...{ calmSince: null, resolvedAt: null, transitions: 1 },
    }
    await this.store.alerts.record(now, [{ before: null, after }])
    const { items } = await this.control.alerts.list({ queue })
    return items[0]?.id ?? ''
  }

  /** The id of a worker that has stopped. */
  async worker(): Promise<string> {
    const id = randomUUID()
    const info = { host: 'box', pid: 42, queues: ['default'], concurrency: 4, version: '1.2.3' }
    await (await this.store.attend({ id, ...info })).leave()
    return id
  }

  async schedule(): Promise<string> {
    const name = `s${randomUUID()}`
    await this.store.schedules.save({
      ...{ name, cron: '0 9 * * *', timezone: 'UTC', topic: 'mail', payload: { userId: '1' } },
      ...{ options: {}, missed: 'skip', source: 'database' },
    })
    return name
  }

  async send(
    method: string,
    path: string,
    { as = 'admin', headers = {}, body }: Sending = {},
  ): Promise<Answer> {
    const token = this.#tokens.get(as)
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body),
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    const text = isStream ? await firstMessage(response) : await response.text()
    const answer = toAnswer(response, text)
    expectDocumented(method, path, answer)
    return answer
  }

  /** Calls a procedure over plain HTTP rather than with the client, so that invalid input reaches the server. */
  call(name: string, input: unknown, sending: Sending = {}): Promise<Answer> {
    const type = PROCEDURES.find((procedure) => procedure.name === name)?.type
    const text = input === undefined ? undefined : superjson.stringify(input)
    return this.callRaw(name, type ?? 'query', text, sending)
  }

  callRaw(
    name: string,
    type: Procedure['kind'],
    text: string | undefined,
    sending: Sending = {},
  ): Promise<Answer> {
    if (type === 'mutation') return this.send('POST', `/trpc/${name}`, { ...sending, body: text })
    const query = text === undefined ? '' : `?input=${encodeURIComponent(text)}`
    return this.send('GET', `/trpc/${name}${query}`, sending)
  }
}

/** The first message of a stream, or its error. */
async function firstMessage(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    for (const message of text.split('\n\n').slice(0, -1)) {
      const data = /^data: (.*)$/m.exec(message)?.[1]
      if (data === undefined || /^event: (connected|ping)$/m.test(message)) continue
      return /^event: serialized-error$/m.test(message) ? `{"error":${data}}` : data
    }
  }
  return ''
}

function toAnswer({ status, headers }: Response, text: string): Answer {
  const isJson =
    headers.get('content-type')?.includes('json') || headers.get('content-type')?.includes('event-stream')
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : undefined
  const { error } = (body ?? {}) as {
    error?: { json?: { data?: { oncue?: Answer['error'] } } } & Answer['error']
  }
  const oncue = error?.json?.data?.oncue ?? (error as Answer['error'])
  // The error of a successful bulk operation is null.
  return { status, headers, text, body, error: oncue ?? undefined }
}
