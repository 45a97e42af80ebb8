import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Api, readConfig, silentLogger, startApi } from '@oncue/api'
import { createSqliteDatabase, type TestDatabase } from '@oncue/db/testing'
import { type Client, createClient, type Role } from '@oncue/sdk'
import {
  type RunningWorker,
  startWorker,
  type WorkerOptions,
  silentLogger as workerLogger,
} from '@oncue/worker'
import { APP } from './config.ts'

export const ADMIN_TOKEN = `oncue_${'admin'.padEnd(43, '0')}`

/** The API with the built app, over a database of its own, and workers that come and go. */
export class World {
  readonly url: string
  readonly client: Client
  readonly #api: Api
  readonly #database: TestDatabase
  readonly #workers = new Set<RunningWorker>()

  constructor(api: Api, database: TestDatabase) {
    this.#api = api
    this.#database = database
    this.url = api.url
    this.client = createClient({ url: api.url, token: ADMIN_TOKEN })
  }

  get store() {
    return this.#api.services.store
  }

  get databaseUrl(): string {
    return this.#database.url
  }

  async work(
    workers: WorkerOptions['workers'],
    options: Partial<WorkerOptions> = {},
  ): Promise<RunningWorker> {
    const worker = await startWorker({
      ...{ store: this.store, workers, queues: ['default', 'mail', 'high'], log: workerLogger },
      ...{ lease: 'inline', ...options },
    })
    this.#workers.add(worker)
    return worker
  }

  /** The secret of a new token. */
  async tokenOf(role: Role, name: string = role): Promise<string> {
    return (await this.client.tokens.create({ name, role })).secret
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) await worker.stop({ graceMs: 0 })
    await this.#api.close()
    await this.#database.drop()
  }
}

export async function startWorld(
  env: Record<string, string> = {},
  createDatabase: () => Promise<TestDatabase> = createSqliteDatabase,
): Promise<World> {
  if (!existsSync(join(APP, 'index.html')))
    throw new Error('Build the app first: pnpm --filter @oncue/mobile export:web')
  const database = await createDatabase()
  const fixed = {
    DATABASE_URL: database.url,
    ONCUE_PORT: '0',
    ONCUE_ADMIN_TOKEN: ADMIN_TOKEN,
    ONCUE_APP_DIR: APP,
  }
  const api = await startApi(readConfig({ ...fixed, ...env }), silentLogger)
  return new World(api, database)
}
