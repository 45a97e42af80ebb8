import type { TestDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { createQueue, openStore, type Store, silentLogger, startWorker } from 'oncue'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DATABASES, run } from '../programs.ts'
import { jobs } from './jobs.ts'
import { createWorkers, type Mail } from './workers.ts'

describe.each(DATABASES)('the mail digest, on $dialect', ({ create }) => {
  let database: TestDatabase
  let store: Store
  beforeEach(async () => {
    database = await create()
    store = await openStore(database.url)
  })
  afterEach(async () => {
    await store.close()
    await database.drop()
  })

  test('the program mails users who have something to read', async () => {
    expect(await run('mail-digest/main.ts', database.url)).toEqual([
      'mail to ada: 2 new',
      'mail to grace: 1 new',
      '2 sent, 1 had nothing to send',
    ])
  })

  test('a mail server that is down for a moment costs a retry, and no mail is sent twice', async () => {
    const sent: Mail[] = []
    let calls = 0
    const workers = createWorkers({
      unread: async () => ['hello'],
      send: async (mail) => {
        calls += 1
        if (calls === 1) throw new Error('connection refused')
        sent.push(mail)
      },
    })
    const worker = await startWorker({ store, workers, pollMs: 50, log: silentLogger })
    const id = await createQueue({ store, jobs }).enqueue('mail_digest', { userId: 'ada' })
    await eventually(async () => expect((await store.get(id))?.status).toBe('completed'))
    expect(await store.get(id)).toMatchObject({ result: { sent: 1 }, retries: 1 })
    expect(sent).toEqual([{ to: 'ada', subject: '1 new', text: '- hello' }])
    await worker.stop()
  })
})
