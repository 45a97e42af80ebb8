import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestWorker, type TestWorker } from 'oncue/testing'
import { jobs } from '../src/jobs.ts'
import { workers } from '../src/workers.ts'

// The handlers of the routes, on a temporary SQLite database that they share with a worker.
let worker: TestWorker<typeof jobs>
let users: typeof import('../src/app/api/users/route.ts')
before(async () => {
  worker = await createTestWorker({ jobs, workers })
  process.env.DATABASE_URL = worker.store.url
  users = await import('../src/app/api/users/route.ts')
})
after(async () => {
  const { closeQueue } = await import('../src/queue.ts')
  await closeQueue()
  await worker.close()
})

const signUp = (email: string) =>
  users.POST(new Request('http://localhost/api/users', { method: 'POST', body: JSON.stringify({ email }) }))

test('a new user gets a welcome', async () => {
  const response = await signUp('ada@example.com')
  assert.equal(response.status, 202)
  // The clock of a test worker stands still; a job of the site has the time of the database.
  const done = await worker.advance(60_000)
  assert.deepEqual(
    done.map(({ topic, status, result }) => ({ topic, status, result })),
    [{ topic: 'send_welcome', status: 'completed', result: { sentTo: 'ada@example.com' } }],
  )
})

test('a body without an address is refused', async () => {
  assert.equal((await signUp('ada')).status, 400)
  assert.deepEqual(await worker.advance(60_000), [])
})

test('strangers do not see the jobs', async () => {
  const { GET } = await import('../src/app/admin/jobs/[[...path]]/route.ts')
  const response = await GET(new Request('http://localhost/admin/jobs/api/jobs'))
  assert.equal(response.status, 401)
})
