import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestWorker } from 'oncue/testing'
import { jobs } from '../src/jobs.ts'
import { workers } from '../src/workers.ts'

test('a welcome is sent', async (t) => {
  const worker = await createTestWorker({ jobs, workers })
  t.after(() => worker.close())
  const job = await worker.run('send_welcome', { email: 'ada@example.com' })
  assert.equal(job.status, 'completed')
  assert.deepEqual(job.result, { sentTo: 'ada@example.com' })
})

test('a payload that is no address is refused before it is stored', async (t) => {
  const worker = await createTestWorker({ jobs, workers })
  t.after(() => worker.close())
  await assert.rejects(worker.run('send_welcome', { email: 'ada' }), { code: 'INVALID_PAYLOAD' })
})
