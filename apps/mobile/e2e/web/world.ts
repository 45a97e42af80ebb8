import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ADMIN_TOKEN, type ServerOptions, startServer, TestServer } from '@oncue/api/testing'
import { type Client, createClient, type Role } from '@oncue/sdk'
import { type RunningWorker, silentLogger, startWorker, type WorkerOptions } from '@oncue/worker'
import { APP } from './config.ts'

export { ADMIN_TOKEN }

/** The API with the built app, over a database of its own, and workers that come and go. */
export class World extends TestServer {
  readonly client: Client = createClient({ url: this.url, token: ADMIN_TOKEN })
  readonly #workers = new Set<RunningWorker>()
  readonly #runtime: ServerOptions['runtime']

  constructor(started: Awaited<ReturnType<typeof startServer>>, runtime?: ServerOptions['runtime']) {
    super(started)
    this.#runtime = runtime
  }

  async work(
    workers: WorkerOptions['workers'],
    options: Partial<WorkerOptions> = {},
  ): Promise<RunningWorker> {
    const worker = await startWorker({
      ...{ store: this.store, workers, queues: ['default', 'mail', 'high'], log: silentLogger },
      // The same wherever it is started: it would be the name in the nearest package.json.
      ...{ service: 'oncue-repository', lease: 'inline', runtime: this.#runtime, ...options },
    })
    this.#workers.add(worker)
    return worker
  }

  /** The secret of a new token. */
  async tokenOf(role: Role, name: string = role): Promise<string> {
    return (await this.client.tokens.create({ name, role })).secret
  }

  override async close(): Promise<void> {
    for (const worker of this.#workers) await worker.stop({ graceMs: 0 })
    await super.close()
  }
}

export async function startWorld(
  env: Record<string, string> = {},
  database: ServerOptions['database'] = 'sqlite',
  runtime?: ServerOptions['runtime'],
): Promise<World> {
  if (!existsSync(join(APP, 'index.html')))
    throw new Error('Build the app first: pnpm --filter @oncue/mobile export:web')
  const started = await startServer({ database, runtime, env: { ONCUE_APP_DIR: APP, ...env } })
  return new World(started, runtime)
}
