// What a user would write. It is compiled and run with the packed package, outside of this repository.
import { createClient, defineJobs, isOncueError, job } from '@oncue/sdk'
import { createTestClient } from '@oncue/sdk/testing'
import { z } from 'zod'

const jobs = defineJobs({
  mail_digest: job({ input: z.object({ userId: z.string() }), output: z.object({ sent: z.number() }) }),
  check_payment: job({ input: z.object({ orderId: z.string() }), queue: 'high' }),
})

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const sure = <_ extends true>() => {}

export async function main(url: string, token: string): Promise<string> {
  const oncue = createClient({ url, token, jobs })
  const id = await oncue.jobs.enqueue('mail_digest', { userId: '123' })
  const result = await oncue.jobs.wait(id, { timeoutMs: 30_000 })
  sure<Equal<typeof result, { sent: number }>>()

  const seen: string[] = []
  for await (const message of oncue.jobs.watch(id)) {
    if (message.type === 'state') seen.push(message.state.status)
  }

  const page = await oncue.jobs.list({ topic: 'mail_digest' })
  const [first] = page.items
  sure<Equal<typeof page.total, number>>()
  if (first) sure<Equal<typeof first.created, Date>>()

  try {
    // @ts-expect-error userId is a string
    await oncue.jobs.enqueue('mail_digest', { userId: 1 })
  } catch (error) {
    if (isOncueError(error, 'INVALID_PAYLOAD')) sure<Equal<typeof error.code, 'INVALID_PAYLOAD'>>()
    else throw error
  }
  // @ts-expect-error there is no such topic
  await oncue.jobs.enqueue('mail_digset', { userId: '1' }).catch(() => {})
  // @ts-expect-error there is no such option
  await oncue.jobs.enqueue('check_payment', { orderId: '1' }, { prioity: 1 }).catch(() => {})

  const test = createTestClient({ jobs })
  await test.jobs.enqueue('check_payment', { orderId: '456' })

  return `${result.sent} ${seen.at(-1)} ${first?.created instanceof Date} ${test.enqueued[0]?.topic}`
}
