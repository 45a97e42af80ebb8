import { type Api, readConfig, silentLogger, startApi } from '@oncue/api'
import { defineJobs, job } from '@oncue/core'
import { createDatabase, DIALECTS, type Dialect } from '@oncue/db/testing'
import {
  type RunningWorker,
  startWorker,
  type WorkerOptions,
  silentLogger as workerLogger,
} from '@oncue/worker'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type ClientOptions, createClient } from '../src/index.ts'

export { createDatabase, DIALECTS }

const ADMIN_TOKEN = `oncue_${'admin'.padEnd(43, '0')}`

export const jobs = defineJobs({
  mail_digest: job({
    input: z.object({ userId: z.string() }),
    output: z.object({ sent: z.number(), at: z.coerce.date() }),
    queue: 'mail',
    priority: 5,
    timeoutMs: 5_000,
    retry: { max: 1, strategy: 'fixed', baseDelay: 0 },
  }),
  extract: job({ input: z.object({ url: z.string() }), output: z.object({ text: z.string() }) }),
  embed: job({ input: z.object({ size: z.int() }) }),
})
export type Jobs = typeof jobs

/** A real API over a real database, and whatever talks to it; gone when the test is over. */
export class World {
  readonly #api: Api

  constructor(api: Api) {
    this.#api = api
  }

  get url(): string {
    return this.#api.url
  }

  get adminToken(): string {
    return ADMIN_TOKEN
  }

  get store() {
    return this.#api.services.store
  }

  closeApi(): Promise<void> {
    return this.#api.close()
  }

  /** As the admin, unless told otherwise. */
  client(options: Partial<ClientOptions<Jobs>> = {}) {
    return createClient({ url: this.url, token: ADMIN_TOKEN, jobs, ...options })
  }

  async work(workers: WorkerOptions['workers']): Promise<RunningWorker> {
    const worker = await startWorker({
      ...{ store: this.store, workers, queues: ['default', 'mail'], log: workerLogger },
      ...{ maintenance: false, lease: 'inline' },
    })
    onTestFinished(() => worker.stop({ graceMs: 0 }))
    return worker
  }
}

/** A network that can be looked at, and broken. */
export class Network {
  readonly requests: string[] = []
  /** So many answers get lost on their way back. */
  lostAnswers = 0
  /** What answers instead of the API, by the name of the call. */
  readonly #instead: Record<string, () => Promise<Response>>

  constructor(instead: Record<string, () => Promise<Response>> = {}) {
    this.#instead = instead
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
    const name = pathname.replace('/trpc/', '')
    this.requests.push(name + (searchParams.has('batch') ? ' (batch)' : ''))
    const response = await (this.#instead[name]?.() ?? fetch(input, init))
    if (this.lostAnswers === 0) return response
    this.lostAnswers--
    await response.arrayBuffer()
    throw new TypeError('connection reset')
  }
}

export async function startWorld(dialect: Dialect, env: Record<string, string> = {}): Promise<World> {
  const database = await createDatabase(dialect)
  const api = await listen(database.url, env)
  onTestFinished(async () => {
    await api.close()
    await database.drop()
  })
  return new World(api)
}

export function listen(databaseUrl: string, env: Record<string, string> = {}): Promise<Api> {
  const fixed = { DATABASE_URL: databaseUrl, ONCUE_PORT: '0', ONCUE_ADMIN_TOKEN: ADMIN_TOKEN }
  return startApi(readConfig({ ...fixed, ...env }), silentLogger)
}
