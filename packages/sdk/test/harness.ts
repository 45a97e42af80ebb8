import { ADMIN_TOKEN, type ServerOptions, startServer, TestServer } from '@oncue/api/testing'
import { defineJobs, job } from '@oncue/core'
import { createDatabase, DIALECTS } from '@oncue/db/testing'
import { type RunningWorker, silentLogger, startWorker, type WorkerOptions } from '@oncue/worker'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type ClientOptions, createClient } from '../src/index.ts'

export { createDatabase, DIALECTS }

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
  embed: job({ input: z.object({ size: z.int() }), signals: { bank: z.object({ ok: z.boolean() }) } }),
})
export type Jobs = typeof jobs

/** A real API over a real database, and its clients; all of it is closed after the test. */
export class World extends TestServer {
  readonly adminToken = ADMIN_TOKEN

  /** As the admin, by default. */
  client(options: Partial<ClientOptions<Jobs>> = {}) {
    return createClient({ url: this.url, token: ADMIN_TOKEN, jobs, ...options })
  }

  async work(workers: WorkerOptions['workers']): Promise<RunningWorker> {
    const worker = await startWorker({
      ...{ store: this.store, workers, queues: ['default', 'mail'], log: silentLogger },
      ...{ maintenance: false, lease: 'inline' },
    })
    onTestFinished(() => worker.stop({ graceMs: 0 }))
    return worker
  }
}

/** A network that can be observed, and broken. */
export class Network {
  readonly requests: string[] = []
  /** How many responses get lost on their way back. */
  lostAnswers = 0
  /** Responses that replace those of the API, by the name of the call. */
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

export async function startWorld(
  database: ServerOptions['database'],
  env: Record<string, string> = {},
): Promise<World> {
  const world = new World(await startServer({ database, env }))
  onTestFinished(() => world.close())
  return world
}
