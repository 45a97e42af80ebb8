import { startServer } from '@oncue/api/testing'
import { type JobId, prepareJob } from '@oncue/core'
import { openStore, type Store } from '@oncue/db'
import { type PostgresPair, startPostgresPair } from '@oncue/db/testing'
import { eventually, Gate } from '@oncue/testing'
import { silentLogger, startWorker } from '@oncue/worker'
import { afterEach, describe, expect, it } from 'vitest'
import { createClient } from '../src/index.ts'
import { jobs as definitions, World } from './harness.ts'

const FAILOVER_MS = 60_000
const WORKERS = 3
/** Generous: it starts two servers, copies one, and runs a thousand jobs. */
const TIMEOUT = { timeout: 180_000 }

/** Cleaned up after the test, last to first. */
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Producers, an API, workers and listeners on one address, with a record of everything that they were told. */
class Fleet {
  readonly pair: PostgresPair
  readonly store: Store
  readonly world: World
  /** Jobs whose enqueue was acknowledged. */
  readonly acknowledged = new Set<JobId>()
  /** Of those, the ones whose enqueue began after the failover. */
  readonly requestedAfter = new Set<JobId>()
  /** How often each job was reported as settled. */
  readonly settled = new Map<JobId, number>()
  wakes = 0
  #producing = true
  #failedOver = false
  #producers: Promise<unknown>[] = []
  readonly #longEnds = new Gate()

  constructor(pair: PostgresPair, store: Store, world: World) {
    this.pair = pair
    this.store = store
    this.world = world
  }

  static async start(synchronous: boolean, leaseMs?: number): Promise<Fleet> {
    const pair = await startPostgresPair({ synchronous })
    cleanups.push(() => pair.stop())
    const store = await openStore(pair.url, { migrate: true })
    cleanups.push(() => store.close())
    const world = new World(await startServer({ database: { url: pair.url } }))
    cleanups.push(() => world.close())
    const fleet = new Fleet(pair, store, world)
    for (let n = 0; n < WORKERS; n++) await fleet.#startWorker(leaseMs)
    await store.onWake(['heard'], () => {
      fleet.wakes += 1
    })
    return fleet
  }

  async #startWorker(leaseMs?: number): Promise<void> {
    const store = await openStore(this.pair.url)
    cleanups.push(() => store.close())
    const worker = await startWorker({
      store,
      workers: { embed: () => null, extract: () => this.#longEnds.opened },
      concurrency: 10,
      leaseMs,
      log: silentLogger,
      onSettled: ({ id }) => this.settled.set(id, (this.settled.get(id) ?? 0) + 1),
    })
    cleanups.push(() => worker.stop({ graceMs: 0 }))
  }

  /** Jobs that run until the end of the test, on all workers. */
  async startLongJobs(): Promise<JobId[]> {
    const ids = await this.store.enqueue(
      Array.from({ length: 4 * WORKERS }, () => prepareJob('extract', { url: '' }, { timeoutMs: 600_000 })),
    )
    await eventually(async () => expect((await this.store.stats()).processing).toBe(ids.length), FAILOVER_MS)
    return ids
  }

  produce(): void {
    const { jobs } = createClient({ url: this.world.url, token: this.world.adminToken, jobs: definitions })
    const beside = async () =>
      this.store.enqueue(Array.from({ length: 5 }, () => prepareJob('embed', { size: 1 }, {})))
    const byApi = async () => [(await jobs.enqueue('embed', { size: 2 })) as JobId]
    cleanups.push(() => this.#stopProducing())
    this.#producers = [beside, byApi].map(async (enqueue) => {
      while (this.#producing) {
        const isAfter = this.#failedOver
        // An enqueue that fails in spite of its retries was not acknowledged: its job may exist or not.
        for (const id of await enqueue().catch(() => [])) {
          this.acknowledged.add(id)
          if (isAfter) this.requestedAfter.add(id)
        }
      }
    })
  }

  async failOver(): Promise<void> {
    await this.pair.failOver()
    this.#failedOver = true
  }

  /** Waits until that many more jobs were acknowledged, and that many in total are settled. */
  async goOn(more: number): Promise<void> {
    const [acknowledged, settled] = [this.acknowledged.size, this.settled.size]
    await eventually(() => expect(this.acknowledged.size).toBeGreaterThan(acknowledged + more), FAILOVER_MS)
    await eventually(() => expect(this.settled.size).toBeGreaterThan(settled + more), FAILOVER_MS)
  }

  async #stopProducing(): Promise<void> {
    this.#producing = false
    await Promise.all(this.#producers)
  }

  /** Stops everything once no job is left and every existing job was reported as settled. */
  async finish(): Promise<void> {
    await this.#stopProducing()
    this.#longEnds.open()
    const left = async () => {
      const { pending, processing, blocked } = await this.store.stats()
      return pending + processing + blocked
    }
    await eventually(async () => expect(await left()).toBe(0), FAILOVER_MS)
    // The last settled jobs may not have been reported yet.
    const lost = new Set(await this.lost())
    const unreported = () => [...this.acknowledged].filter((id) => !lost.has(id) && !this.settled.has(id))
    await eventually(async () => expect(await unreported()).toEqual([]), FAILOVER_MS)
  }

  /** The acknowledged jobs that do not exist. */
  async lost(): Promise<JobId[]> {
    const ids = [...this.acknowledged]
    const found = await Promise.all(ids.map((id) => this.store.get(id)))
    return ids.filter((_, n) => found[n] === null)
  }

  settledTwice(): JobId[] {
    return [...this.settled].flatMap(([id, times]) => (times > 1 ? [id] : []))
  }
}

describe('a failover under load', () => {
  it(
    'with synchronous replication loses nothing, settles nothing twice, and everything goes on by itself',
    TIMEOUT,
    async () => {
      // Longer than all of it takes on a loaded machine.
      const fleet = await Fleet.start(true, 120_000)
      const { store, world } = fleet
      const long = await fleet.startLongJobs()
      fleet.produce()
      await fleet.goOn(200)
      await fleet.failOver()
      await fleet.goOn(200)

      // Presence: every worker is visible again, and none was declared dead.
      const present = async () =>
        (await store.workers()).filter((worker) => worker.missingSince === null).length
      await eventually(async () => expect(await present()).toBe(WORKERS), FAILOVER_MS)
      // Listeners: a wake-up arrives again.
      await eventually(async () => {
        await store.enqueue([prepareJob('heard', {}, { queue: 'heard' })])
        expect(fleet.wakes).toBeGreaterThan(0)
      }, FAILOVER_MS)
      await store.delete({ topic: 'heard' })
      // The API: it responds, and the jobs that it stores are run.
      const { jobs } = world.client()
      const waited = await jobs.enqueue('embed', { size: 3 })
      expect(await jobs.wait(waited)).toBeNull()

      await fleet.finish()
      expect(await fleet.lost()).toEqual([])
      expect(fleet.settledTwice()).toEqual([])
      const ended = await Promise.all(long.map((id) => store.get(id)))
      expect(ended.map((job) => job && [job.status, job.run, job.crashes])).toEqual(
        long.map(() => ['completed', 1, 0]),
      )
    },
  )

  it(
    'with asynchronous replication loses what had not reached the standby, and nothing else',
    TIMEOUT,
    async () => {
      // Runs whose settle was lost are owned by workers that do not know them, until their lease expires.
      const fleet = await Fleet.start(false, 10_000)
      fleet.produce()
      await fleet.goOn(200)
      const safe = new Set(fleet.acknowledged)
      await fleet.pair.lag()
      await fleet.goOn(200)
      await fleet.failOver()
      await fleet.goOn(200)
      await fleet.finish()

      // Stored after the standby was cut off: lost, although their enqueue was acknowledged. For the API perhaps only
      // after the failover, because it writes to the audit before it responds.
      const lost = new Set(await fleet.lost())
      expect(lost.size).toBeGreaterThan(200)
      expect([...lost].filter((id) => safe.has(id) || fleet.requestedAfter.has(id))).toEqual([])
      expect(fleet.requestedAfter.size).toBeGreaterThan(100)
    },
  )
})
