// Every entry of every package, for the compiler.
import { type Api, readConfig, startApi } from '@oncue/api'
import { assertTopic } from '@oncue/core/internal'
import { type JobPage, listJobsResponseSchema } from '@oncue/core/wire'
import { createQueue, type Store } from '@oncue/db'
import { type RunningWorker, startWorker } from '@oncue/worker'
import { createTestWorker } from '@oncue/worker/testing'
import { jobs, workers } from './jobs.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const sure = <_ extends true>() => {}

export async function all(store: Store): Promise<[Api, RunningWorker]> {
  const queue = createQueue({ store, jobs })
  await queue.enqueue('mail_digest', { userId: '123' })
  // @ts-expect-error userId is a string
  await queue.enqueue('mail_digest', { userId: 1 })
  // @ts-expect-error there is no such topic
  await queue.enqueue('mail_digset', { userId: '1' })

  const test = await createTestWorker({ workers, jobs })
  const tested = await test.run('mail_digest', { userId: '123' })
  sure<Equal<typeof tested.result, { sent: number } | null>>()

  assertTopic('mail_digest')
  const page = await store.list({ topic: 'mail_digest' })
  sure<Equal<typeof page, JobPage>>()
  listJobsResponseSchema.parse({ ...page, limit: 50, offset: 0 })

  const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log }
  return [await startApi(readConfig({}), log), await startWorker({ store, workers })]
}
