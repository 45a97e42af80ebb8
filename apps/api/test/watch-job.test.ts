import { prepareJob } from '@oncue/core'
import { openStore } from '@oncue/db'
import { createSqliteDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { START } from '../src/live/position.ts'
import { StateHub } from '../src/live/states.ts'
import { watchJob } from '../src/live/watch-job.ts'

const WORKER = '01900000-0000-7000-8000-00000000000a'

async function aWatchedJob() {
  const database = await createSqliteDatabase()
  const store = await openStore(database.url)
  let looks = 0
  const states = new StateHub(
    (ids) => {
      looks += 1
      return store.glance(ids)
    },
    { pollMs: 5, gapMs: 1 },
  )
  onTestFinished(async () => {
    await states.stop()
    await store.close()
    await database.drop()
  })
  const [id = ''] = await store.enqueue([prepareJob('mail', null)])
  /** Waits until every onlooker has been shown the current state. */
  const looked = () => {
    const before = looks
    return eventually(() => expect(looks).toBeGreaterThan(before + 2))
  }
  return { store, states, id, looked }
}

describe('a slow reader', () => {
  it('gets every event, but only the latest state', async () => {
    const { store, states, id, looked } = await aWatchedJob()
    const stream = watchJob(store, states, id, START, new AbortController().signal)
    const first = await stream.next()
    expect(first.value).toMatchObject({ message: { type: 'state', state: { status: 'pending' } } })

    const { jobs } = await store.claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: 60_000 })
    const run = { id, run: jobs[0]?.run ?? 0 }
    for (let n = 1; n <= 5; n++) {
      await store.recordProgress([{ ...run, progress: String(n) }])
      await looked()
    }
    await store.events.append(id, null, [{ type: 'one' }, { type: 'two' }])
    await store.settle([{ ...run, kind: 'complete' }])
    await looked()

    const told: unknown[] = []
    for await (const { message } of stream) {
      told.push(message.type === 'event' ? message.event.type : message.state.status)
    }
    expect(told).toEqual(['one', 'two', 'completed'])
  })

  it('of states only gets no event', async () => {
    const { store, states, id, looked } = await aWatchedJob()
    const stream = watchJob(null, states, id, START, new AbortController().signal)
    await stream.next()
    await store.events.append(id, null, [{ type: 'one' }])
    await store.cancel([id])
    await looked()
    const told: unknown[] = []
    for await (const { message } of stream) told.push(message.type)
    expect(told).toEqual(['state'])
  })

  it('can be aborted at any time', async () => {
    const { store, states, id } = await aWatchedJob()
    const gone = new AbortController()
    const stream = watchJob(store, states, id, START, gone.signal)
    await stream.next()
    const next = stream.next()
    gone.abort(new Error('gone'))
    await expect(next).rejects.toThrow('gone')
    expect(states.size).toBe(0)
  })
})
