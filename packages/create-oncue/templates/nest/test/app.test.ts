import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { INestApplication } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { openStore } from 'oncue'
import { AppModule } from '../src/app.module.js'
import { DATABASE_URL } from '../src/oncue/oncue.module.js'
import { Mailer } from '../src/users/mailer.js'

// The whole application, on a database of its own, with a mailer that sends nothing.
let folder: string
let url: string
let app: INestApplication
let sent: Promise<string>

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobs-'))
  url = `file:${join(folder, 'test.db')}`
  const mail = Promise.withResolvers<string>()
  sent = mail.promise
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(DATABASE_URL)
    .useValue(url)
    .overrideProvider(Mailer)
    .useValue({ sendWelcome: async (email: string) => mail.resolve(email) })
    .compile()
  app = module.createNestApplication()
  await app.listen(0, '127.0.0.1')
})

afterEach(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

const signUp = async (email: string) =>
  fetch(`${await app.getUrl()}/users`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  })

test('a new user gets a welcome, and the worker ends its jobs before it stops', async () => {
  const response = await signUp('ada@example.com')
  assert.equal(response.status, 202)
  const { jobId } = (await response.json()) as { jobId: string }
  assert.equal(await sent, 'ada@example.com')
  await app.close()
  const store = await openStore(url)
  const job = await store.get(jobId)
  await store.close()
  assert.deepEqual([job?.status, job?.result], ['completed', { sentTo: 'ada@example.com' }])
})

test('a body without an address is refused', async () => {
  assert.equal((await signUp('ada')).status, 400)
})

test('strangers do not see the jobs', async () => {
  const response = await fetch(`${await app.getUrl()}/admin/jobs/api/jobs`)
  assert.equal(response.status, 401)
})
