import { isOncueError } from '@oncue/core'
import { eventually, observeFor } from '@oncue/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../src/open.ts'
import type { Store } from '../src/store.ts'
import { aJob, claiming, complete, newWorkerId, read, someJobs } from './conformance/harness.ts'
import { type PostgresServer, startPostgres } from './support/index.ts'

/** Default durability: what the server acknowledged must be there after SIGKILL. */
describe('a Postgres that is killed and comes back', () => {
  let server: PostgresServer
  let store: Store

  beforeAll(async () => {
    server = await startPostgres()
    store = await openStore(server.url, { migrate: true })
  })
  afterAll(async () => {
    await store.close()
    await server.stop()
  })

  /** Calls again until it succeeds, as a caller would after DATABASE_UNAVAILABLE. */
  async function untilItWorks<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!isOncueError(error) || !error.retryable) throw error
      }
    }
  }

  async function restart(): Promise<void> {
    await server.kill()
    await server.start()
  }

  it('loses no acknowledged job, duplicates none, and settles each once', async () => {
    const acknowledged: string[] = []
    const completed = new Set<string>()
    let killing = true
    let producing = 2

    const producer = async () => {
      while (killing) {
        const jobs = someJobs(20)
        // An enqueue that fails in spite of its retries is not acknowledged: its job may exist or not.
        const ids = await store.enqueue(jobs).catch(() => [])
        acknowledged.push(...ids)
      }
      producing -= 1
    }
    const worker = async () => {
      const id = newWorkerId()
      for (let isDone = false; !isDone; ) {
        // Read before the claim: what comes after a claim that found nothing is for the next one.
        const wasLast = producing === 0
        const { jobs } = await untilItWorks(() => store.claim(claiming({ worker: id, limit: 50 })))
        const { stale } = await untilItWorks(() => store.settle(jobs.map((job) => complete(job))))
        expect(stale).toEqual([])
        for (const job of jobs) completed.add(job.id)
        // Releases what a claim took whose reply was lost.
        const unknown = await untilItWorks(() => store.ownedRuns(id))
        await untilItWorks(() => store.settle(unknown.map((run) => ({ ...run, kind: 'release' }))))
        isDone = wasLast && jobs.length + unknown.length === 0
      }
    }
    const chaos = async () => {
      for (let kills = 1; kills <= 5; kills++) {
        await eventually(() => expect(acknowledged.length).toBeGreaterThan(kills * 300))
        await restart()
      }
      killing = false
    }
    await Promise.all([producer(), producer(), worker(), worker(), chaos()])

    expect(acknowledged.filter((id) => !completed.has(id))).toEqual([])
    expect(await store.stats()).toMatchObject({
      completed: completed.size,
      pending: 0,
      processing: 0,
      failed: 0,
    })
  })

  it('declares no worker dead before all had time to reconnect', async () => {
    const other = await openStore(server.url)
    const id = newWorkerId()
    await store.attend({ id, host: 'h', pid: 1, queues: ['default'], concurrency: 1, version: '0' })
    await store.enqueue([aJob()])
    const { jobs } = await store.claim(claiming({ worker: id }))
    await restart()
    // Observed for longer than the second of absence that otherwise counts as death.
    await observeFor(2_500, async () => {
      expect((await untilItWorks(() => other.rescue())).rescued).toEqual([])
    })
    expect(await store.settle(jobs.map((job) => complete(job)))).toMatchObject({ stale: [] })
    expect(await read(store, jobs[0]?.id ?? '')).toMatchObject({ status: 'completed', run: 1, crashes: 0 })
    await other.close()
  })

  it('fails with DATABASE_UNAVAILABLE while it is down, and works again when it is back', async () => {
    await server.kill()
    await expect(store.enqueue([aJob()])).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      retryable: true,
    })
    await expect(store.list()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await server.start()
    await expect(store.enqueue([aJob()])).resolves.toHaveLength(1)
  })
})
