import {
  createQueue,
  defineJobs,
  defineWorkers,
  job,
  type OncueError,
  type Queue,
  type RunningWorker,
  type Store,
  startWorker,
} from 'oncue'
import { createClient } from 'oncue/client'
import { createTestClient, createTestWorker } from 'oncue/testing'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'

const jobs = defineJobs({
  mail_digest: job({ input: z.object({ userId: z.string() }), output: z.object({ sent: z.number() }) }),
})
const workers = defineWorkers(jobs, {
  async mail_digest({ payload }) {
    return { sent: payload.userId.length }
  },
})

/** Nothing here is run: the test is that it compiles. */
const unrun = (_: () => unknown) => {}

describe('what is imported from one package', () => {
  it('has one set of types from the definition to the handler, the queue and the test worker', () => {
    unrun(async () => {
      const store = {} as Store
      const queue = createQueue({ store, jobs })
      expectTypeOf(queue).toExtend<Queue<typeof jobs>>()
      await queue.enqueue('mail_digest', { userId: '1' })
      // @ts-expect-error userId is a string
      await queue.enqueue('mail_digest', { userId: 1 })
      // @ts-expect-error there is no such topic
      await queue.enqueue('mail_digset', { userId: '1' })
      // @ts-expect-error no such topic is defined
      defineWorkers(jobs, { mail_digset: async () => ({ sent: 1 }) })
      expectTypeOf(startWorker({ store, workers })).resolves.toEqualTypeOf<RunningWorker>()
      const test = await createTestWorker({ workers, jobs })
      const { result } = await test.run('mail_digest', { userId: '1' })
      expectTypeOf(result).toEqualTypeOf<{ sent: number } | null>()
    })
  })

  it('passes its definitions to the client, and to the test client', () => {
    unrun(async () => {
      const client = createClient({ url: 'http://127.0.0.1:1', jobs })
      const id = await client.jobs.enqueue('mail_digest', { userId: '1' })
      expectTypeOf(client.jobs.wait(id)).resolves.toEqualTypeOf<{ sent: number }>()
      // @ts-expect-error userId is a string
      await client.jobs.enqueue('mail_digest', { userId: 1 })
      const test = createTestClient({ jobs })
      expectTypeOf(test.enqueued[0]?.topic).toEqualTypeOf<'mail_digest' | undefined>()
    })
  })

  it('knows the codes of errors', () => {
    expectTypeOf<'INVALID_MODULE'>().toExtend<OncueError['code']>()
    expectTypeOf<'NO_SUCH_CODE'>().not.toExtend<OncueError['code']>()
  })
})
