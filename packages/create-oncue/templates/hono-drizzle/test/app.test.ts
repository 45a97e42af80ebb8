import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { eq } from 'drizzle-orm'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { createQueue } from 'oncue'
import { createTestWorker } from 'oncue/testing'
import { createApp } from '../src/app.ts'
import { db, pool, url } from '../src/db/client.ts'
import { users } from '../src/db/schema.ts'
import { jobs } from '../src/jobs.ts'
import { workers } from '../src/workers.ts'

// On the Postgres of DATABASE_URL. The jobs are in a schema of their own, which is removed afterwards.
before(() => migrate(db, { migrationsFolder: 'drizzle' }))
after(() => pool.end())

test('a new user gets one welcome', async (t) => {
  const worker = await createTestWorker({ jobs, workers, url })
  t.after(() => worker.close())
  const app = createApp(db, createQueue({ pool, jobs, schema: worker.store.schema }))
  const email = `${randomUUID()}@example.com`
  t.after(() => db.delete(users).where(eq(users.email, email)))
  const signUp = () => app.request('/users', { method: 'POST', body: JSON.stringify({ email }) })

  assert.equal((await signUp()).status, 201)
  assert.equal((await signUp()).status, 409)
  // The clock of a test worker stands still; a job of the queue has the time of the database.
  const done = await worker.advance(60_000)
  assert.deepEqual(
    done.map(({ topic, status, result }) => ({ topic, status, result })),
    [{ topic: 'send_welcome', status: 'completed', result: { sentTo: email } }],
  )
  const [user] = await db.select().from(users).where(eq(users.email, email))
  assert.ok(user?.welcomedAt)
})

test('a body without an address is refused', async (t) => {
  const worker = await createTestWorker({ jobs, workers, url })
  t.after(() => worker.close())
  const app = createApp(db, createQueue({ pool, jobs, schema: worker.store.schema }))
  const response = await app.request('/users', { method: 'POST', body: '{"email":"ada"}' })
  assert.equal(response.status, 400)
  assert.deepEqual(await worker.advance(60_000), [])
})
