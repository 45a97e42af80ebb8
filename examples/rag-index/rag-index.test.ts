import type { TestDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { createQueue, openStore, type RunningWorker, type Store, silentLogger, startWorker } from 'oncue'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DATABASES, run } from '../programs.ts'
import { jobs } from './jobs.ts'
import { embed, Library } from './library.ts'
import { createWorkers } from './workers.ts'

describe.each(DATABASES)('indexing a source, on $dialect', ({ create }) => {
  let database: TestDatabase
  let store: Store
  let worker: RunningWorker | undefined
  let library: Library
  beforeEach(async () => {
    database = await create()
    store = await openStore(database.url)
    library = new Library()
    library.add('cats', 'A cat sleeps all day. Its whiskers measure gaps. Kittens drink milk.')
  })
  afterEach(async () => {
    await worker?.stop()
    worker = undefined
    await store.close()
    await database.drop()
  })

  const start = async (model: typeof embed) => {
    worker = await startWorker({
      store,
      workers: createWorkers(library, model),
      pollMs: 50,
      log: silentLogger,
    })
    return createQueue({ store, jobs })
  }
  const status = async (id: string) => (await store.get(id))?.status
  const jobsOf = async (topic: string) => (await store.list({ topic })).items

  test('the program indexes, and answers', async () => {
    expect(await run('rag-index/main.ts', database.url)).toEqual([
      '{"chunks":3}, ready: true',
      'what do kittens drink? Kittens drink milk, grown cats should not.',
    ])
  })

  test('one job for each chunk, all of them children, and one when all are done', async () => {
    const queue = await start(embed)
    const id = await queue.enqueue('vectorize_source', { sourceId: 'cats' })
    await eventually(() => expect(library.isReady('cats')).toBe(true))
    const chunks = await jobsOf('embed_chunk')
    expect(chunks.map(({ parentId }) => parentId)).toEqual([id, id, id])
    // Its chunks may be done before its own end is written.
    await eventually(async () =>
      expect(await store.get(id)).toMatchObject({ status: 'completed', result: { chunks: 3 } }),
    )
  })

  test('a chunk whose model is busy is retried; the source is not ready before', async () => {
    const busy = new Set(['Kittens drink milk.'])
    const queue = await start((text) => {
      if (!busy.delete(text)) return embed(text)
      expect(library.isReady('cats')).toBe(false)
      throw new Error('503')
    })
    await queue.enqueue('vectorize_source', { sourceId: 'cats' })
    await eventually(() => expect(library.isReady('cats')).toBe(true))
    const retries = (await jobsOf('embed_chunk')).map((chunk) => chunk.retries)
    expect(retries.sort()).toEqual([0, 0, 1])
    expect(library.search('milk for kittens')).toBe('Kittens drink milk.')
  })

  test('an orchestrator that fails is run again only by a person', async () => {
    const queue = await start(embed)
    const id = await queue.enqueue('vectorize_source', { sourceId: 'dogs' })
    await eventually(async () => expect(await status(id)).toBe('failed'))
    expect(await store.get(id)).toMatchObject({ run: 1, lastError: { message: 'there is no source dogs' } })
    library.add('dogs', 'Dogs bark.')
    await store.requeue([id])
    await eventually(() => expect(library.isReady('dogs')).toBe(true))
  })
})
