import { describe, expect, it } from 'vitest'
import { ADMIN_TOKEN, DIALECTS, startTestApi } from './harness.ts'

describe.each(DIALECTS)('a job without options, on %s', (dialect) => {
  const retry = { strategy: 'fixed', baseDelay: 500 } as const
  const policy = { queue: 'mail', priority: 3, timeoutMs: 30_000, maxRetries: 0, retry }
  const topic = 'announced'

  async function start() {
    const api = await startTestApi(dialect)
    await api.store.announce([{ topic, input: {}, output: {}, policy }])
    return api
  }

  it('takes the options that a worker announced for its topic, unless the request sets them', async () => {
    const { client, store } = await start().then((api) => ({ client: api.client(), store: api.store }))
    const { id } = await client.jobs.enqueue.mutate({ topic })
    expect(await store.get(id)).toMatchObject(policy)
    const own = await client.jobs.enqueue.mutate({ topic, queue: 'high', retry: { max: 5 } })
    expect(await store.get(own.id)).toMatchObject({ ...policy, queue: 'high', maxRetries: 5 })
    const { results } = await client.jobs.enqueueMany.mutate({ jobs: [{ topic }], atomic: false })
    const [first] = results.map((result) => ('id' in result ? result.id : ''))
    expect(await store.get(first ?? '')).toMatchObject(policy)
  })

  it('takes them over REST as well', async () => {
    const api = await start()
    const response = await fetch(`${api.url}/api/jobs/enqueue`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ topic }),
    })
    const { id } = (await response.json()) as { id: string }
    expect(await api.store.get(id)).toMatchObject(policy)
  })

  it('is refused if the token may not enqueue into its queue', async () => {
    const api = await start()
    const { secret } = await api.client().tokens.create.mutate({
      name: 'other',
      role: 'producer',
      allowedQueues: ['default'],
    })
    const { jobs } = api.client(secret)
    await expect(jobs.enqueue.mutate({ topic })).rejects.toMatchObject({
      data: { oncue: { code: 'QUEUE_NOT_ALLOWED' } },
    })
    expect(await jobs.enqueue.mutate({ topic, queue: 'default' })).toMatchObject({ created: true })
  })

  it('of a schedule is refused in the same way when it is run now', async () => {
    const api = await start()
    const { schedules, tokens } = api.client()
    await schedules.save.mutate({ name: 'pay', cron: '0 0 1 1 *', topic, missed: 'one' })
    const runAs = async (queue: string) => {
      const token = { name: queue, role: 'operator' as const, allowedQueues: [queue] }
      const { secret } = await tokens.create.mutate(token)
      return api.client(secret).schedules.runNow.mutate({ name: 'pay' })
    }
    await expect(runAs('default')).rejects.toMatchObject({ data: { oncue: { code: 'QUEUE_NOT_ALLOWED' } } })
    const { id } = await runAs('mail')
    expect(await api.store.get(id)).toMatchObject(policy)
  })
})
