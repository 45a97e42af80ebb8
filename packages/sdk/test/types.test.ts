// By its own name, because this file is compiled with the packed package, too: see scripts/test/release/packed.test.ts.
import {
  type Client,
  createClient,
  defineJobs,
  isOncueError,
  type JobRef,
  type JobStatus,
  job,
} from '@oncue/sdk'
import { useJob } from '@oncue/sdk/react'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'

const jobs = defineJobs({
  mail_digest: job({
    input: z.object({ userId: z.string() }),
    output: z.object({ sent: z.number(), at: z.coerce.date() }),
  }),
  extract: job({ input: z.object({ url: z.string() }), output: z.object({ text: z.string() }) }),
  embed: job({ input: z.object({ size: z.int() }) }),
  tidy: job({ input: z.object({ days: z.int() }).optional() }),
  export_rows: job({
    input: z.object({ table: z.string() }),
    output: z.object({ rows: z.number() }),
    progress: z.object({ rows: z.number(), since: z.coerce.date() }),
  }),
})

/** Nothing here is run: the test is that it compiles. */
const unrun = (_: () => unknown) => {}

describe('the types', () => {
  const client = createClient({ url: 'http://127.0.0.1:1', jobs })

  it('know topics, payloads and options', () => {
    unrun(() => client.jobs.enqueue('mail_digest', { userId: '1' }, { runAt: new Date(), priority: 1 }))
    // @ts-expect-error there is no such topic
    unrun(() => client.jobs.enqueue('mail_digset', { userId: '1' }))
    // @ts-expect-error userId is a string
    unrun(() => client.jobs.enqueue('mail_digest', { userId: 1 }))
    // @ts-expect-error the payload of another topic
    unrun(() => client.jobs.enqueue('mail_digest', { url: 'x' }))
    // @ts-expect-error there is no such option
    unrun(() => client.jobs.enqueue('mail_digest', { userId: '1' }, { prioity: 1 }))
    // @ts-expect-error a date is not a text
    unrun(() => client.jobs.enqueue('mail_digest', { userId: '1' }, { runAt: '2026-01-08' }))

    unrun(() => client.jobs.enqueueMany([{ topic: 'embed', payload: { size: 1 }, delay: 5 }]))
    // @ts-expect-error the payload of another topic
    unrun(() => client.jobs.enqueueMany([{ topic: 'embed', payload: { url: 'x' } }]))
    // @ts-expect-error the payload of another topic
    unrun(() => client.jobs.chain(['extract', { url: 'x' }], ['embed', { url: 'x' }]))
  })

  it('know batches and flows', () => {
    const mail = { topic: 'mail_digest', payload: { userId: '1' } } as const
    const extract = { topic: 'extract', payload: { url: 'x' } } as const
    const [then, onFailure] = [mail, { ...extract, delay: 5 }]
    unrun(() => client.jobs.batch([mail, { ...extract, priority: 1 }], { then, onFailure }))
    unrun(() => client.jobs.batch([mail], { onFailure }))
    // @ts-expect-error nothing follows it
    unrun(() => client.jobs.batch([mail], {}))
    // @ts-expect-error the payload of another topic
    unrun(() => client.jobs.batch([{ topic: 'embed', payload: { url: 'x' } }], { onFailure }))
    // @ts-expect-error what follows has no key
    unrun(() => client.jobs.batch([mail], { onFailure: { ...mail, idempotencyKey: 'a' } }))
    const flow = () => client.jobs.flow({ nodes: { mail, extract }, edges: [['extract', 'mail']] })
    expectTypeOf(flow).returns.resolves.toEqualTypeOf<{
      readonly mail: JobRef<{ sent: number; at: Date }>
      readonly extract: JobRef<{ text: string }>
    }>()
    // @ts-expect-error there is no such node
    unrun(() => client.jobs.flow({ nodes: { mail, extract }, edges: [['extract', 'mial']] }))
    // @ts-expect-error it would wait for itself
    unrun(() => client.jobs.flow({ nodes: { mail, extract }, edges: [['mail', 'mail']] }))
    // @ts-expect-error there is no such topic
    unrun(() => client.jobs.flow({ nodes: { a: { topic: 'mial', payload: null } } }))
    // @ts-expect-error the payload of another topic
    unrun(() => client.jobs.flow({ nodes: { a: { topic: 'extract', payload: { size: 1 } } } }))
  })

  it('know results', () => {
    type Digest = { sent: number; at: Date }
    const enqueue = () => client.jobs.enqueue('mail_digest', { userId: '1' })
    expectTypeOf(enqueue).returns.resolves.toEqualTypeOf<JobRef<Digest>>()
    expectTypeOf(enqueue).returns.resolves.toExtend<string>()
    const waited = async () => client.jobs.wait(await enqueue())
    expectTypeOf(waited).returns.resolves.toEqualTypeOf<Digest>()
    const named = () => client.jobs.wait('some id', { topic: 'mail_digest' })
    expectTypeOf(named).returns.resolves.toEqualTypeOf<Digest>()
    const unnamed = () => client.jobs.wait('some id')
    expectTypeOf(unnamed).returns.resolves.toEqualTypeOf<unknown>()
    const chained = () => client.jobs.chain(['extract', { url: 'x' }], ['mail_digest', { userId: '1' }])
    expectTypeOf(chained).returns.resolves.toEqualTypeOf<[JobRef<{ text: string }>, JobRef<Digest>]>()
  })

  it('know topics and payloads of schedules', () => {
    const nightly = { name: 'nightly', cron: '0 3 * * *' } as const
    unrun(() => client.schedules.save({ ...nightly, topic: 'embed', payload: { size: 1 }, missed: 'one' }))
    unrun(() => client.schedules.save({ ...nightly, topic: 'tidy' }))
    unrun(() => client.schedules.save({ ...nightly, topic: 'tidy', payload: { days: 7 } }))
    // @ts-expect-error there is no such topic
    unrun(() => client.schedules.save({ ...nightly, topic: 'embde', payload: { size: 1 } }))
    // @ts-expect-error the payload of another topic
    unrun(() => client.schedules.save({ ...nightly, topic: 'embed', payload: { url: 'x' } }))
    // @ts-expect-error this topic needs a payload
    unrun(() => client.schedules.save({ ...nightly, topic: 'embed' }))
    // @ts-expect-error there is no such option
    unrun(() => client.schedules.save({ ...nightly, topic: 'tidy', mised: 'one' }))
    unrun(() => client.schedules.pause({ name: 'nightly' }))
    const loose = createClient({ url: 'http://127.0.0.1:1' })
    unrun(() => loose.schedules.save({ ...nightly, topic: 'anything', payload: [1] }))
    unrun(() => loose.schedules.save({ ...nightly, topic: 'anything' }))
  })

  it('know what the API returns', () => {
    const get = () => client.jobs.get('some id')
    expectTypeOf(get).returns.resolves.toHaveProperty('created').toEqualTypeOf<Date>()
    expectTypeOf(get).returns.resolves.toHaveProperty('status').toEqualTypeOf<JobStatus>()
    type Page = Awaited<ReturnType<typeof client.jobs.list>>
    expectTypeOf<Page['items'][number]['runAt']>().toEqualTypeOf<Date>()
    // @ts-expect-error there is no such status
    unrun(() => client.jobs.list({ status: 'done' }))
    // @ts-expect-error a queue is required
    unrun(() => client.queues.pause())
    type Message = ReturnType<typeof client.jobs.watch> extends AsyncIterable<infer M> ? M : never
    expectTypeOf<Message['type']>().toEqualTypeOf<'event' | 'state'>()
    type Health = ReturnType<typeof client.health.watch> extends AsyncIterable<infer M> ? M : never
    expectTypeOf<Health['now']>().toEqualTypeOf<Date>()
  })

  it('of a client without definitions accept every topic', () => {
    const loose = createClient({ url: 'http://127.0.0.1:1' })
    unrun(() => loose.jobs.enqueue('anything', { at: 'all' }))
    expectTypeOf(client).toEqualTypeOf<Client<typeof jobs>>()
  })

  it('know what a hook shows, by the id or by the topic', () => {
    type Rows = { rows: number; since: Date }
    unrun(async () => {
      const view = useJob(client, await client.jobs.enqueue('export_rows', { table: 'orders' }))
      if (view.state === 'live') expectTypeOf(view.progress).toEqualTypeOf<Rows | null>()
      if (view.state === 'done') expectTypeOf(view.result).toEqualTypeOf<{ rows: number }>()
      if (view.state === 'error' || view.state === 'reconnecting') expectTypeOf(view.error.code).toBeString()
      // @ts-expect-error only a completed job has a result
      if (view.state === 'live') view.result.rows
    })
    const named = useJob(client, 'some id', { topic: 'export_rows' })
    expectTypeOf(named.progress).toEqualTypeOf<Rows | null | undefined>()
    expectTypeOf(named.result).toEqualTypeOf<{ rows: number } | undefined>()
    expectTypeOf(useJob(client, undefined).result).toEqualTypeOf<unknown>()
    // @ts-expect-error there is no such topic
    unrun(() => useJob(client, 'some id', { topic: 'export_row' }))
  })

  it('know the progress that a stream tells', () => {
    unrun(async () => {
      const id = await client.jobs.enqueue('export_rows', { table: 'orders' })
      for await (const message of client.jobs.watch(id))
        if (message.type === 'state')
          expectTypeOf(message.state.progress?.since).toEqualTypeOf<Date | undefined>()
    })
  })

  it('of errors are narrowed by their code', () => {
    const error: unknown = new Error()
    if (isOncueError(error, 'PAYLOAD_TOO_LARGE'))
      expectTypeOf(error.code).toEqualTypeOf<'PAYLOAD_TOO_LARGE'>()
  })
})
