import { type EnqueueOptions, prepareJob } from '@oncue/core'
import { prepareOwnJob } from '@oncue/core/internal'
import type { Role } from '@oncue/core/wire'
import type { ClaimedJob, Store } from '@oncue/db'
import { createDatabase, DIALECTS, type Dialect } from '@oncue/db/testing'
import {
  createTRPCClient,
  httpLink,
  httpSubscriptionLink,
  splitLink,
  type TRPCClient,
  TRPCClientError,
} from '@trpc/client'
import { EventSource } from 'eventsource'
import superjson from 'superjson'
import { onTestFinished } from 'vitest'
import type { AppRouter } from '../src/index.ts'
import { ADMIN_TOKEN, type ServerOptions, startServer, TestServer } from './support/index.ts'

export { ADMIN_TOKEN, createDatabase, DIALECTS, type Dialect }

export type Client = TRPCClient<AppRouter>

/** A server that is stopped after the test, with clients for it and access to its store. */
export class TestApi extends TestServer {
  /** Calls as the admin by default. Null: without a token. */
  client(token: string | null = ADMIN_TOKEN): Client {
    return createClient(this.url, token)
  }

  fetch(path: string, { token = ADMIN_TOKEN, json, ...init }: FetchOptions = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    if (token !== null && !headers.has('authorization')) headers.set('authorization', `Bearer ${token}`)
    if (json !== undefined) headers.set('content-type', 'application/json')
    const body = json === undefined ? init.body : JSON.stringify(json)
    return fetch(new URL(path, this.url), {
      method: body ? 'POST' : 'GET',
      ...init,
      headers,
      ...(body && { body }),
    })
  }

  /** A token with this role. */
  async tokenFor(role: Role, options: { allowedTopics?: string[]; expiresAt?: Date } = {}): Promise<string> {
    const { secret } = await this.client().tokens.create.mutate({ name: role, role, ...options })
    return secret
  }

  /** Stores a job directly, without the API. */
  async enqueue(options: EnqueueOptions & { topic?: string; payload?: unknown } = {}): Promise<string> {
    const { topic = 'mail_digest', payload = { userId: '123' }, ...rest } = options
    const [id] = await this.store.enqueue([prepareOwnJob(topic, payload, rest)])
    if (id === undefined) throw new Error('the enqueue returned no id')
    return id
  }

  /** Claims a job as a worker does. */
  async claim(queue = 'default'): Promise<ClaimedJob> {
    const { jobs } = await this.store.claim({ queues: [queue], limit: 1, worker: WORKER, leaseMs: 60_000 })
    const [job] = jobs
    if (!job) throw new Error('there is no job to claim')
    return job
  }

  async complete({ id, run }: { id: string; run: number }, result: unknown = null): Promise<void> {
    await this.store.settle([{ id, run, kind: 'complete', result: JSON.stringify(result) }])
  }
}

const WORKER = '01900000-0000-7000-8000-00000000000a'

export interface FetchOptions extends RequestInit {
  token?: string | null
  /** Sent as a POST unless `method` says otherwise. */
  json?: unknown
}

export async function startTestApi(
  database: ServerOptions['database'],
  options: Omit<ServerOptions, 'database'> = {},
): Promise<TestApi> {
  const api = new TestApi(await startServer({ database, ...options }))
  onTestFinished(() => api.close())
  return api
}

export function createClient(url: string, token: string | null = ADMIN_TOKEN): Client {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  class AuthorizedEventSource extends EventSource {
    constructor(address: string | URL) {
      super(address, {
        fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
      })
    }
  }
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: httpSubscriptionLink({
          url: `${url}/trpc`,
          transformer: superjson,
          EventSource: AuthorizedEventSource,
        }),
        false: httpLink({ url: `${url}/trpc`, transformer: superjson, headers }),
      }),
    ],
  })
}

/** Enqueues jobs, runs them and lets them fail. */
export async function failJobs(
  store: Store,
  count: number,
  { topic = 'mail_digest', ...options }: EnqueueOptions & { topic?: string } = {},
): Promise<string[]> {
  const ids = await store.enqueue(
    Array.from({ length: count }, (_, n) => prepareJob(topic, { n }, { maxRetries: 0, ...options })),
  )
  const queues = [options.queue ?? 'default']
  const error = { class: 'TypeError', message: 'no user', fingerprint: 'f00d' }
  for (let left = count; left > 0; ) {
    const { jobs } = await store.claim({ queues, limit: 1_000, worker: WORKER, leaseMs: 60_000 })
    await store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'fail', error })))
    left -= jobs.length
  }
  return ids
}

/** The error that a call failed with, as Oncue names it. */
export async function errorOf(call: Promise<unknown>) {
  try {
    await call
  } catch (error) {
    if (error instanceof TRPCClientError) return (error as TRPCClientError<AppRouter>).data?.oncue
    throw error
  }
  throw new Error('the call succeeded')
}
