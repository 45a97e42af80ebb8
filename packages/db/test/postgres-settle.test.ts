import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { openStore } from '../src/open.ts'
import type { Store } from '../src/store.ts'
import { aJob, claiming, complete, read, someJobs } from './conformance/harness.ts'
import { createPostgresDatabase, type TestDatabase } from './support/index.ts'
import { withClient } from './support/postgres-transactions.ts'

describe('a result that Postgres refuses every time', () => {
  let database: TestDatabase
  let store: Store
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    store = await openStore(database.url)
  })
  afterEach(async () => {
    await store.close()
    await database.drop()
  })
  const admin = (...statements: string[]) =>
    withClient(database.url, async (client: pg.Client) => {
      for (const statement of statements) await client.query(statement)
    })
  const refuse = (which: string) =>
    admin(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'never'; end $$`,
      `create trigger refuse before insert on oncue.history for each row when (${which}) execute function refuse()`,
    )

  it.each(['settle', 'settleAndClaim'] as const)(
    'by %s does not stop the rest of its batch: JSON too deep to be parsed',
    async (how) => {
      await store.enqueue(someJobs(5))
      const { jobs } = await store.claim(claiming({ limit: 5 }))
      const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
      const ends = jobs.map((job, n) => complete(job, n === 2 ? deep : '{}'))
      const { stale, refused } = await (how === 'settle'
        ? store.settle(ends)
        : store.settleAndClaim(ends, claiming()))
      expect(stale).toEqual([])
      expect(refused).toMatchObject([{ id: jobs[2]?.id, reason: expect.stringContaining('stack depth') }])
      const statuses = await Promise.all(jobs.map(async ({ id }) => (await read(store, id)).status))
      expect(statuses).toEqual(['completed', 'completed', 'failed', 'completed', 'completed'])
    },
  )

  it('does not stop the rest of its batch either when its job cannot even be failed', async () => {
    await store.enqueue(someJobs(5))
    const { jobs } = await store.claim(claiming({ limit: 5 }))
    const [poisoned] = jobs
    await refuse(`new.id = '${poisoned?.id}'`)
    const { stale, refused } = await store.settle(jobs.map((job) => complete(job)))
    expect(stale).toEqual([])
    expect(refused).toEqual([{ id: poisoned?.id, run: 1, reason: 'Postgres: never' }])
    expect(await store.stats()).toMatchObject({ completed: 4, processing: 1 })
  })

  it('leaves no trace when the error was temporary', async () => {
    await store.enqueue([aJob()])
    const { jobs } = await store.claim(claiming({ limit: 1 }))
    await admin(`create sequence tries; create function fail_once() returns trigger language plpgsql
      as 'begin if nextval(''public.tries'') = 1 then raise exception ''once'' using errcode = ''XX000''; end if; return new; end';
      create trigger fail_once before insert on oncue.history for each row execute function fail_once()`)
    expect(await store.settle(jobs.map((job) => complete(job, '"done"')))).toMatchObject({
      stale: [],
      refused: [],
    })
    expect(await read(store, jobs[0]?.id ?? '')).toMatchObject({ status: 'completed', result: 'done' })
  })

  it('does not discard results when nothing at all can be written', async () => {
    await store.enqueue(someJobs(3))
    const { jobs } = await store.claim(claiming({ limit: 3 }))
    await refuse('true')
    const ends = jobs.map((job) => complete(job, '"done"'))
    await expect(store.settle(ends)).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
    await admin('drop trigger refuse on oncue.history')
    expect(await store.settle(ends)).toEqual({ stale: [], refused: [] })
    expect(await read(store, jobs[0]?.id ?? '')).toMatchObject({ result: 'done' })
  })
})
