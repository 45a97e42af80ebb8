import type { WatchMessage } from '@oncue/core/wire'
import { eventually, Gate } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import { appRouter } from '../src/http/trpc.ts'
import {
  ADMIN_TOKEN,
  type Client,
  createClient,
  createDatabase,
  DIALECTS,
  startTestApi,
  type TestApi,
} from './harness.ts'
import { StatementCounter, startProxy } from './proxy.ts'

/** The messages that a client received about a job, in order. */
class Notebook {
  readonly messages: WatchMessage[] = []
  readonly ids: string[] = []
  outcome: 'open' | 'complete' | string = 'open'
  readonly begun = new Gate()
  readonly ended = new Gate()
  #stop: () => void = () => {}

  watch(client: Client, id: string, lastEventId?: string): this {
    const subscription = client.jobs.watch.subscribe(
      { id, ...(lastEventId !== undefined && { lastEventId }) },
      {
        onData: ({ id: messageId, data }) => {
          this.ids.push(messageId)
          this.messages.push(data)
          this.begun.open()
        },
        onComplete: () => {
          this.outcome = 'complete'
          this.ended.open()
        },
        onError: (error) => {
          this.outcome = error.data?.oncue.code ?? error.message
          this.ended.open()
        },
      },
    )
    this.#stop = () => subscription.unsubscribe()
    return this
  }

  get statuses(): string[] {
    return this.messages.flatMap((message) => (message.type === 'state' ? [message.state.status] : []))
  }

  get events(): string[] {
    return this.messages.flatMap((message) => (message.type === 'event' ? [message.event.type] : []))
  }

  stop(): void {
    this.#stop()
  }
}

const emit = (api: TestApi, id: string, type: string) => api.store.events.append(id, null, [{ type }])

describe.each(DIALECTS)('watching on %s', (dialect) => {
  it('sends every event and each new state, and ends with the final one', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const notebook = new Notebook().watch(api.client(), id)
    await eventually(() => expect(notebook.statuses).toEqual(['pending']))
    const job = await api.claim()
    await eventually(() => expect(notebook.statuses).toEqual(['pending', 'processing']))
    await emit(api, id, 'node_started')
    await emit(api, id, 'node_finished')
    await api.complete(job)
    await eventually(() => expect(notebook.outcome).toBe('complete'))
    expect(notebook.statuses).toEqual(['pending', 'processing', 'completed'])
    expect(notebook.events).toEqual(['node_started', 'node_finished'])
    expect(notebook.messages.at(-1)).toMatchObject({ type: 'state', state: { id, status: 'completed' } })
  })

  it('sends all events of a finished job, and then its state', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    for (let n = 0; n < 3; n++) await emit(api, id, `tool_called_${n}`)
    await api.complete(await api.claim())
    const notebook = new Notebook().watch(api.client(), id)
    await eventually(() => expect(notebook.outcome).toBe('complete'))
    expect(notebook.messages.map(({ type }) => type)).toEqual(['event', 'event', 'event', 'state'])

    // Resuming after any message sends the rest, and nothing before it.
    for (const [n, from] of notebook.ids.entries()) {
      const rest = new Notebook().watch(api.client(), id, from)
      await eventually(() => expect(rest.outcome).toBe('complete'))
      expect(rest.messages).toEqual(notebook.messages.slice(n + 1))
    }
  })

  it('misses nothing and repeats nothing for a client that reconnects again and again', async () => {
    const api = await startTestApi(dialect)
    const proxy = await startProxy(api.url)
    const id = await api.enqueue()
    const notebook = new Notebook().watch(createClient(proxy.url), id)
    await eventually(() => expect(notebook.statuses).toEqual(['pending']))
    const job = await api.claim()
    const types = Array.from({ length: 40 }, (_, n) => `event_${n}`)
    for (const [n, type] of types.entries()) {
      await emit(api, id, type)
      if (n === 10 || n === 25) {
        // In the middle of an open stream, while more events are written.
        await eventually(() => expect(notebook.events.length).toBeGreaterThan(n - 5))
        proxy.cut()
      }
    }
    await eventually(() => expect(notebook.events).toHaveLength(types.length))
    await eventually(() => expect(notebook.statuses).toEqual(['pending', 'processing']))
    proxy.cut()
    await api.complete(job)
    await eventually(() => expect(notebook.outcome).toBe('complete'))
    expect(notebook.events).toEqual(types)
    expect(notebook.statuses).toEqual(['pending', 'processing', 'completed'])
    expect(new Set(notebook.ids).size).toBe(notebook.ids.length)
  })

  it('costs nothing once the client has left', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const notebook = new Notebook().watch(api.client(), id)
    const subscription = api.client().health.watch.subscribe(undefined, {})
    const watchers = () => [api.services.live.states.size, api.services.live.health.size]
    await eventually(() => expect(watchers()).toEqual([1, 1]))
    notebook.stop()
    subscription.unsubscribe()
    await eventually(() => expect(watchers()).toEqual([0, 0]))
  })

  it('ends without an unhandled rejection while its next message is not awaited', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const principal = await api.services.auth.identify({ authorization: `Bearer ${ADMIN_TOKEN}` })
    const request = { id: 'test', ip: '127.0.0.1', userAgent: '', origin: api.url }
    const caller = appRouter.createCaller({ ...api.services, principal, request })
    const iterator = (await caller.jobs.watch({ id }))[Symbol.asyncIterator]()
    await iterator.next()
    // As tRPC does behind a client that reads slowly.
    const next = iterator.next()
    await api.close()
    await expect(next).rejects.toThrow('aborted')
  })

  it('refuses an unknown job, an invalid position, and callers without access', async () => {
    const api = await startTestApi(dialect)
    const unknown = '01900000-0000-7000-8000-000000000000'
    const id = await api.enqueue()
    const producer = await api.tokenFor('producer', { allowedTopics: ['other'] })
    const missing = new Notebook().watch(api.client(), unknown)
    const lost = new Notebook().watch(api.client(), id, 'somewhere')
    const stranger = new Notebook().watch(api.client(null), id)
    const other = new Notebook().watch(api.client(producer), id)
    await eventually(() => expect(missing.outcome).toBe('JOB_NOT_FOUND'))
    await eventually(() => expect(lost.outcome).toBe('INVALID_INPUT'))
    await eventually(() => expect(stranger.outcome).toBe('UNAUTHORIZED'))
    await eventually(() => expect(other.outcome).toBe('JOB_NOT_FOUND'))
  })

  it('ends when the token is revoked', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const admin = api.client()
    const { id: tokenId, secret } = await admin.tokens.create.mutate({ name: 'phone', role: 'viewer' })
    const notebook = new Notebook().watch(api.client(secret), id)
    await eventually(() => expect(notebook.statuses).toEqual(['pending']))
    await admin.tokens.revoke.mutate({ id: tokenId })
    await eventually(() => expect(notebook.outcome).toBe('UNAUTHORIZED'))
  })

  it('masks values that only admins may see', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const secret = { password: 'hunter2', user: 'ann' }
    await api.store.events.append(id, null, [{ type: 'signed_in', data: secret }])
    await api.complete(await api.claim())
    const dataFor = async (token: string) => {
      const notebook = new Notebook().watch(api.client(token), id)
      await eventually(() => expect(notebook.outcome).toBe('complete'))
      const [first] = notebook.messages
      return first?.type === 'event' ? first.event.data : undefined
    }
    expect(await dataFor(await api.tokenFor('viewer'))).toEqual({ password: '[masked]', user: 'ann' })
    expect(await dataFor(await api.tokenFor('admin'))).toEqual(secret)
  })

  it('sends the numbers of all queues when they change', async () => {
    const api = await startTestApi(dialect)
    const seen: number[] = []
    const subscription = api.client().health.watch.subscribe(undefined, {
      onData: ({ data: { backlog } }) => {
        // Messages also come when other numbers change.
        if (seen.at(-1) !== backlog.value) seen.push(backlog.value)
      },
    })
    await eventually(() => expect(seen).toEqual([0]))
    await api.enqueue()
    await eventually(() => expect(seen).toEqual([0, 1]))
    await api.complete(await api.claim())
    await eventually(() => expect(seen).toEqual([0, 1, 0]))
    subscription.unsubscribe()
  })

  it('reconnects to another server when its own stops, and continues where it was', async () => {
    const database = await createDatabase(dialect)
    const [first, second] = await Promise.all([1, 2].map(() => startTestApi({ url: database.url })))
    if (!first || !second) throw new Error('there are two')
    const id = await first.enqueue()
    await emit(first, id, 'before')
    const proxy = await startProxy(first.url)
    const notebook = new Notebook().watch(createClient(proxy.url), id)
    await eventually(() => expect(notebook.events).toEqual(['before']))
    await eventually(() => expect(notebook.statuses).toEqual(['pending']))
    proxy.target = second.url
    await first.close()
    expect(notebook.outcome).toBe('open')
    await emit(second, id, 'after')
    await second.complete(await second.claim())
    await eventually(() => expect(notebook.outcome).toBe('complete'))
    expect(notebook.events).toEqual(['before', 'after'])
    await second.close()
    await database.drop()
  })
})

describe('500 subscribers', () => {
  it('cost one stream of queries, not 500', async () => {
    const database = await createDatabase('postgres')
    const counter = new StatementCounter()
    const proxy = await startProxy(database.url, counter.listen)
    const api = await startTestApi({ url: proxy.url }, { background: false })
    const ids = await Promise.all(Array.from({ length: 500 }, () => api.enqueue()))
    const notebooks = ids.map((id) => new Notebook().watch(api.client(), id))
    // Waits for signals, since the server, its 500 clients and this test share one event loop.
    await Promise.all(notebooks.map((notebook) => notebook.begun.opened))
    for (const notebook of notebooks) expect(notebook.statuses).toEqual(['pending'])

    // States twice a second, events and tokens once, each with the clock: the next 30 take more than two seconds.
    const start = performance.now()
    const target = counter.count + 30
    await eventually(() => expect(counter.count).toBeGreaterThanOrEqual(target))
    expect(performance.now() - start).toBeGreaterThan(2_000)

    await emit(api, ids[0] ?? '', 'tick')
    await eventually(() => expect(notebooks[0]?.events).toEqual(['tick']))
    await api.client().jobs.cancel.mutate({ ids })
    await Promise.all(notebooks.map((notebook) => notebook.ended.opened))
    for (const notebook of notebooks) expect(notebook.outcome).toBe('complete')
    await api.close()
    await database.drop()
  })
})
