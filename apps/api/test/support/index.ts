import type { Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { createDatabase, type Dialect } from '@oncue/db/testing'
import {
  type Api,
  type Logger,
  readConfig,
  type StartOptions,
  silentLogger,
  startApi,
} from '../../src/index.ts'

export const ADMIN_TOKEN = `oncue_${'admin'.padEnd(43, '0')}`

export interface ServerOptions extends StartOptions {
  /** A dialect: a new database. A given database is dropped with the server if it has `drop`. */
  readonly database: Dialect | { readonly url: string; drop?(): Promise<void> }
  /** Environment variables. */
  readonly env?: Readonly<Record<string, string>>
  readonly log?: Logger
}

interface Started {
  readonly api: Api
  readonly databaseUrl: string
  close(): Promise<void>
}

/** Starts a real API on its own port, over a real database. */
export async function startServer({
  database: given,
  env,
  log = silentLogger,
  ...options
}: ServerOptions): Promise<Started> {
  const database = typeof given === 'string' ? await createDatabase(given) : given
  let dropped: Promise<void> | undefined
  const drop = () => {
    dropped ??= database.drop?.()
    return dropped
  }
  const fixed = { DATABASE_URL: database.url, ONCUE_PORT: '0', ONCUE_ADMIN_TOKEN: ADMIN_TOKEN }
  try {
    const api = await startApi(readConfig({ ...fixed, ...env }), log, options)
    const close = async () => {
      await api.close()
      await drop()
    }
    return { api, databaseUrl: database.url, close }
  } catch (error) {
    await drop()
    throw error
  }
}

/** The base of test servers, which add their own ways to call the API. */
export class TestServer {
  readonly #started: Started

  constructor(started: Started) {
    this.#started = started
  }

  /** As in `http://127.0.0.1:4400`. */
  get url(): string {
    return this.#started.api.url
  }

  get databaseUrl(): string {
    return this.#started.databaseUrl
  }

  get services(): Api['services'] {
    return this.#started.api.services
  }

  /** The server's own store, to inspect its effects and to run jobs. */
  get store(): Store {
    return this.services.store
  }

  get control(): Control {
    return this.services.control
  }

  close(): Promise<void> {
    return this.#started.close()
  }
}
