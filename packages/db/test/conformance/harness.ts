import { randomUUID } from 'node:crypto'
import type { EnqueueOptions, JobError, NewJob } from '@oncue/core'
import { prepareOwnJob } from '@oncue/core/internal'
import { afterEach, beforeEach } from 'vitest'
import { type Control, openControl } from '../../src/control/index.ts'
import { type OpenOptions, openStore } from '../../src/open.ts'
import type { Transaction } from '../../src/queue/transaction.ts'
import type { ClaimedJob, ClaimRequest, Settlement, Store } from '../../src/store.ts'

/** What each dialect provides to the suite. */
export type Dialect = {
  readonly name: string
  /** The schema of the installation under test. Default: oncue. */
  readonly schema?: string
  createDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }>
  /** Each way in which a caller can have a transaction on this database. */
  readonly transactions: readonly TransactionKind[]
  /** The store reaches its database through a transaction pooler (capability `sessions`). */
  readonly pooled?: boolean
  /** Cuts the connection that shows a worker's presence, as a network failure would. */
  cutPresence?(url: string, worker: string): Promise<void>
}

export type TransactionKind = {
  readonly name: string
  /** Runs `body` in a transaction, and rolls back when it throws. */
  run(url: string, body: (tx: Transaction) => Promise<unknown>): Promise<void>
}

/** Time as a parameter: it stands still until a test moves it. */
export class TestClock {
  #ms: number

  constructor(start = '2026-01-01T00:00:00.000Z') {
    this.#ms = Date.parse(start)
  }

  readonly now = () => new Date(this.#ms)

  advance(ms: number): Date {
    this.#ms += ms
    return this.now()
  }
}

/** A fresh database for each test, and stores on it that are closed afterwards. */
export class Bench {
  #database: Awaited<ReturnType<Dialect['createDatabase']>> | undefined
  readonly #stores: Store[] = []
  #clock = new TestClock()

  readonly #schema: string | undefined

  constructor(dialect: Dialect) {
    this.#schema = dialect.schema
    beforeEach(async () => {
      this.#clock = new TestClock()
      this.#database = await dialect.createDatabase()
    })
    afterEach(async () => {
      for (const store of this.#stores.splice(0)) await store.close()
      await this.#database?.drop()
    })
  }

  /** Reset for each test. */
  get clock(): TestClock {
    return this.#clock
  }

  get url(): string {
    if (!this.#database) throw new Error('there is a database only while a test runs')
    return this.#database.url
  }

  /** A store on the real clock. */
  async open(options: OpenOptions = {}): Promise<Store> {
    const store = await openStore(this.url, { schema: this.#schema, ...options })
    this.#stores.push(store)
    return store
  }

  /** A store on the test's clock. */
  openWithClock(): Promise<Store> {
    return this.open({ clock: this.clock.now })
  }

  /** Both seams over the same connections, on the test's clock. */
  async openBoth(): Promise<{ store: Store; control: Control }> {
    const store = await this.openWithClock()
    return { store, control: await openControl(store) }
  }

  /** Control on a store, by default on a new one, on the test's clock. */
  async openControl(store?: Store): Promise<Control> {
    return openControl(store ?? (await this.openWithClock()))
  }
}

export const MINUTE = 60_000
export const LEASE = 5 * MINUTE
export const WORKER = '01900000-0000-7000-8000-00000000000a'
export const OTHER_WORKER = '01900000-0000-7000-8000-00000000000b'
export const newWorkerId = randomUUID

export function aJob(options: EnqueueOptions & { topic?: string; payload?: unknown } = {}): NewJob {
  const { topic = 'mail_digest', payload = { userId: '123' }, ...rest } = options
  return prepareOwnJob(topic, payload, rest)
}

export function someJobs(count: number, options?: Parameters<typeof aJob>[0]): NewJob[] {
  return Array.from({ length: count }, () => aJob(options))
}

export function claiming(options: Partial<ClaimRequest> = {}): ClaimRequest {
  return { queues: ['default'], limit: 10, worker: WORKER, leaseMs: LEASE, ...options }
}

/** Claims the one job that is ready. */
export async function claimOne(store: Store, options?: Partial<ClaimRequest>): Promise<ClaimedJob> {
  const { jobs } = await store.claim(claiming({ limit: 1, ...options }))
  const [job] = jobs
  if (!job) throw new Error('there is no job to claim')
  return job
}

export function complete({ id, run }: { id: string; run: number }, result?: string): Settlement {
  return { id, run, kind: 'complete', ...(result !== undefined && { result }) }
}

export const anError: JobError = {
  class: 'TypeError',
  message: 'userId is not a string',
  fingerprint: 'f00d',
}

/** The job as it is stored, or an error when there is none. */
export async function read(store: Store, id: string) {
  const job = await store.get(id)
  if (!job) throw new Error(`there is no job ${id}`)
  return job
}
