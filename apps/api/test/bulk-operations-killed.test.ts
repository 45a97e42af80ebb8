import { randomUUID } from 'node:crypto'
import { openStore } from '@oncue/db'
import { openControl } from '@oncue/db/control'
import { eventually } from '@oncue/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startProcess } from './api-process.ts'
import { ADMIN_TOKEN, createClient, createDatabase, DIALECTS, failJobs } from './harness.ts'

const JOBS = 3_000

/** Enough for two processes to start, and for the second to wait for the end of a term. */
const PATIENCE_MS = 120_000

const until = (assertions: () => void | Promise<void>) => eventually(assertions, 40_000)

describe.each(DIALECTS)('an operation on %s', (dialect) => {
  it(
    'is finished by another process when its own is killed, and changes no job twice',
    async () => {
      const database = await createDatabase(dialect)
      const store = await openStore(database.url)
      const control = await openControl(store)
      onTestFinished(async () => {
        await store.close()
        await database.drop()
      })
      const ids = await failJobs(store, JOBS)
      const env = { ONCUE_ADMIN_TOKEN: ADMIN_TOKEN }
      const [one, two] = await Promise.all([startProcess(database.url, env), startProcess(database.url, env)])

      const filter = { status: 'failed' } as const
      const { bulkOperations } = createClient(one.url)
      const { asOf, count } = await bulkOperations.preview.query({ action: 'requeue', filter })
      expect(count).toBe(JOBS)
      const { id } = await bulkOperations.run.mutate({
        ...{ action: 'requeue', filter, asOf, expectedCount: count, idempotencyKey: randomUUID() },
      })
      await until(async () => expect((await control.bulkOperations.get(id))?.done).toBeGreaterThan(0))
      one.process.child.kill('SIGKILL')
      const atDeath = await control.bulkOperations.get(id)
      expect(atDeath).toMatchObject({ status: 'running' })

      await until(async () => {
        expect(await createClient(two.url).bulkOperations.get.query({ id })).toMatchObject({
          ...{ status: 'completed', total: JOBS, done: JOBS, skipped: {} },
        })
      })
      expect(await store.stats()).toMatchObject({ pending: JOBS, failed: 0 })
      const streams = await Promise.all(ids.map((job) => store.events.list(job)))
      const types = streams.map((events) => events.map(({ type }) => type).join())
      expect(new Set(types)).toEqual(new Set(['run_failed,requeued']))
      // Every claim adds a run: there was only the one that failed.
      const glances = await store.glance(ids)
      expect(new Set([...glances.values()].map(({ run }) => run))).toEqual(new Set([1]))
      const { audit } = await openControl(store)
      const { items } = await audit.list({ action: 'bulkOperations.end' })
      expect(items).toMatchObject([{ count: JOBS, target: { id, status: 'completed' } }])
      expect(await two.process.stop()).toBe(0)
    },
    PATIENCE_MS,
  )

  it(
    'with a canary is continued by another process when its own is killed',
    async () => {
      const database = await createDatabase(dialect)
      const store = await openStore(database.url)
      const control = await openControl(store)
      onTestFinished(async () => {
        await store.close()
        await database.drop()
      })
      await failJobs(store, 50)
      const env = { ONCUE_ADMIN_TOKEN: ADMIN_TOKEN }
      const [one, two] = await Promise.all([startProcess(database.url, env), startProcess(database.url, env)])
      const filter = { status: 'failed' } as const
      const { bulkOperations } = createClient(one.url)
      const { asOf, count } = await bulkOperations.preview.query({ action: 'requeue', filter })
      const { id } = await bulkOperations.run.mutate({
        ...{ action: 'requeue', filter, asOf, expectedCount: count, idempotencyKey: randomUUID() },
        canary: { count: 5, maxFailed: 0 },
      })
      const look = () => control.bulkOperations.get(id)
      await until(async () => expect(await look()).toMatchObject({ status: 'canary', done: 5 }))
      one.process.child.kill('SIGKILL')
      const worker = randomUUID()
      const { jobs } = await store.claim({ queues: ['default'], limit: 50, worker, leaseMs: 60_000 })
      expect(jobs).toHaveLength(5)
      await store.settle(jobs.map((job) => ({ id: job.id, run: job.run, kind: 'complete' })))
      await until(async () =>
        expect(await look()).toMatchObject({ status: 'completed', done: 50, outcomes: { completed: 5 } }),
      )
      expect(await two.process.stop()).toBe(0)
    },
    PATIENCE_MS,
  )
})
