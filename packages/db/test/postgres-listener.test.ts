import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { simulate, systemRuntime } from '@oncue/runtime'
import { eventually, Gate, Relay } from '@oncue/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { openStore } from '../src/open.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { PostgresListener } from '../src/postgres/listener.ts'
import { LoneEnqueues, PostgresNotifier, wakeStatements } from '../src/postgres/notifier.ts'
import type { Store } from '../src/store.ts'
import { aJob } from './conformance/harness.ts'
import { createPostgresDatabase, startPostgres, type TestDatabase } from './support/index.ts'

/** Cleaned up after the test, last to first. */
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function poolOf(url: string): PostgresClient {
  const client = new PostgresClient(url, 3)
  cleanups.push(() => client.close())
  return client
}

function listenerOn(url: string, pingMs?: number, poolUrl = url): PostgresListener {
  const listener = new PostgresListener({ connectionString: url, pool: poolOf(poolUrl).pool, pingMs })
  cleanups.push(() => listener.close())
  return listener
}

async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  cleanups.push(() => client.end())
  return client
}

/** How often it woke since the last call. */
async function countWakes(listener: PostgresListener, queues = ['default']): Promise<() => number> {
  let wakes = 0
  await listener.onWake(queues, () => {
    wakes += 1
  })
  wakes = 0
  return () => {
    const count = wakes
    wakes = 0
    return count
  }
}

describe('a listener', () => {
  it('can be closed while it connects to a server that never replies', async () => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    cleanups.push(async () => silent.close())
    const { port } = silent.address() as { port: number }
    const listener = listenerOn(`postgres://nobody@127.0.0.1:${port}/nothing`)
    const isConnecting = once(silent, 'connection')
    const subscription = listener.onWake(['default'], () => {})
    const [socket] = (await isConnecting) as [Socket]
    await listener.close()
    await subscription
    socket.destroy()
  })

  let database: TestDatabase
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    cleanups.push(() => database.drop())
  })
  const notify = (client: pg.ClientBase, queues = ['default']) =>
    Promise.all(wakeStatements(queues).map(({ text, values }) => client.query(text, values)))
  const backends = (client: pg.ClientBase) =>
    client.query(
      `select pid from pg_stat_activity where application_name = 'oncue listener' and datname = current_database()`,
    )

  it('wakes no subscriber before the commit, once after it, and not at all after a rollback', async () => {
    const wakes = await countWakes(listenerOn(database.url))
    const client = await connectTo(database.url)
    const other = await connectTo(database.url)
    await client.query('begin')
    await notify(client)
    // Notifications arrive in order: an earlier one would have been heard before this one.
    const elsewhere = await countWakes(listenerOn(database.url), ['elsewhere'])
    await notify(other, ['elsewhere'])
    await expect.poll(elsewhere).toBe(1)
    expect(wakes()).toBe(0)
    await client.query('commit')
    await expect.poll(wakes).toBe(1)
    await client.query('begin')
    await notify(client)
    await client.query('rollback')
    await notify(other, ['elsewhere'])
    await expect.poll(elsewhere).toBe(1)
    expect(wakes()).toBe(0)
  })

  it('wakes only subscribers of that queue', async () => {
    const listener = listenerOn(database.url)
    const high = await countWakes(listener, ['high', 'higher'])
    const low = await countWakes(listener, ['low'])
    const client = await connectTo(database.url)
    await notify(client, ['high', 'elsewhere'])
    await expect.poll(high).toBe(1)
    await notify(client, ['low'])
    await expect.poll(low).toBe(1)
    expect(high()).toBe(0)
  })

  it('is one connection for all subscribers, opened by the first', async () => {
    const client = await connectTo(database.url)
    const listener = listenerOn(database.url)
    expect((await backends(client)).rowCount).toBe(0)
    await Promise.all(Array.from({ length: 20 }, () => countWakes(listener)))
    expect((await backends(client)).rowCount).toBe(1)
  })

  it('sends one statement after the other, whatever is asked of it at once', async () => {
    let underWay = 0
    let most = 0
    class Client extends pg.Client {
      override query(...args: [never]): never {
        underWay += 1
        most = Math.max(most, underWay)
        const sent = super.query(...args) as unknown as Promise<unknown>
        return sent.finally(() => {
          underWay -= 1
        }) as never
      }
    }
    const listener = new PostgresListener({
      connectionString: database.url,
      pool: poolOf(database.url).pool,
      Client,
    })
    cleanups.push(() => listener.close())
    const first = await listener.subscribe('oncue', () => {})
    listener.check()
    const others = await Promise.all(
      (['oncue.events', 'oncue.signals'] as const).map((channel) => listener.subscribe(channel, () => {})),
    )
    await Promise.all([first, ...others].map((subscription) => subscription.close()))
    await listener.subscribe('oncue.events', () => {})
    expect(most).toBe(1)
  })

  it('does not wake a subscriber whose subscription is closed', async () => {
    const listener = listenerOn(database.url)
    const client = await connectTo(database.url)
    let wakes = 0
    const subscription = await listener.onWake(['default'], () => {
      wakes += 1
    })
    await subscription.close()
    await subscription.close()
    const others = await countWakes(listener)
    wakes = 0
    await notify(client)
    await expect.poll(others).toBe(1)
    expect(wakes).toBe(0)
  })

  it('continues when a subscriber throws', async () => {
    const listener = listenerOn(database.url)
    await listener.onWake(['default'], () => {
      throw new Error('my own fault')
    })
    const wakes = await countWakes(listener)
    await notify(await connectTo(database.url))
    await expect.poll(wakes).toBe(1)
  })

  it('that is cut reconnects, wakes every subscriber, and hears the next enqueue', async () => {
    const listener = listenerOn(database.url)
    const wakes = await countWakes(listener)
    const elsewhere = await countWakes(listener, ['elsewhere'])
    const client = await connectTo(database.url)
    for (let cut = 0; cut < 3; cut++) {
      const before = (await backends(client)).rows
      await client.query('select pg_terminate_backend($1)', [before[0]?.pid])
      await expect.poll(wakes, { timeout: 5_000 }).toBe(1)
      expect(elsewhere()).toBe(1)
      expect((await backends(client)).rows).not.toEqual(before)
      await notify(client)
      await expect.poll(wakes).toBe(1)
    }
  })

  it('that is half-open is detected by its ping, reconnects, and hears the next enqueue', async () => {
    const proxy = await startProxy(database.url)
    const wakes = await countWakes(listenerOn(proxy.url, 250, database.url))
    const client = await connectTo(database.url)
    proxy.freeze()
    await notify(client)
    await eventually(() => expect(wakes()).toBeGreaterThan(0))
    await notify(client)
    await expect.poll(wakes).toBeGreaterThan(0)
  })

  it('closes in time although its connection is half-open, and can be closed twice', async () => {
    const proxy = await startProxy(database.url)
    const listener = listenerOn(proxy.url, undefined, database.url)
    await countWakes(listener)
    proxy.freeze()
    await listener.close()
    await listener.close()
    await expect(listener.onWake([], () => {})).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})

describe('a listener whose Postgres is restarted', () => {
  it('reconnects when the server is back, also when it was down from the start', async () => {
    const server = await startPostgres()
    cleanups.push(() => server.stop())
    const wakes = await countWakes(listenerOn(server.url))
    await server.kill()
    const late = await countWakes(listenerOn(server.url))
    await server.start()
    await eventually(() => expect(wakes()).toBe(1))
    await eventually(() => expect(late()).toBe(1))
    const client = await connectTo(server.url)
    for (const { text, values } of wakeStatements(['default'])) await client.query(text, values)
    await expect.poll(wakes).toBe(1)
    await expect.poll(late).toBe(1)
  })
})

describe('an enqueue', () => {
  /** Statements that notify: in the insert, or after it. */
  async function notifyingOf(work: (store: Store) => Promise<unknown>): Promise<('insert' | 'after')[]> {
    const database = await createPostgresDatabase(inject('postgresUrl'))
    cleanups.push(() => database.drop())
    // Its clock stands still, so that all of it happens at the same time, however long it takes.
    const store = await openStore(database.url, { runtime: { ...systemRuntime, monotonic: () => 0 } })
    const query = vi.spyOn(pg.Client.prototype, 'query')
    try {
      await work(store)
      // Sends what waits.
      await store.close()
      return query.mock.calls
        .map(([sent]) => (typeof sent === 'string' ? sent : (sent as pg.QueryConfig).text))
        .filter((text) => text.includes('pg_notify'))
        .map((text) => (text.startsWith('insert') ? 'insert' : 'after'))
    } finally {
      query.mockRestore()
    }
  }

  it('that is alone notifies in its own statement', async () => {
    expect(await notifyingOf((store) => store.enqueue([aJob()]))).toEqual(['insert'])
  })

  it('that comes soon after another, or at the same time, notifies after its commit', async () => {
    const three = async (store: Store) => {
      await Promise.all([store.enqueue([aJob()]), store.enqueue([aJob()])])
      await store.enqueue([aJob()])
    }
    const [first, ...others] = await notifyingOf(three)
    expect(first).toBe('insert')
    expect(new Set(others)).toEqual(new Set(['after']))
  })

  it('of a delayed job wakes no worker that polls, and notifies those at rest after its commit', async () => {
    let wakes = 0
    const delayed = async (store: Store) => {
      await store.onWake(['default'], () => {
        wakes += 1
      })
      const heard = new Gate<string | null>()
      await store.rest?.onAnyWake((name) => heard.open(name))
      wakes = 0
      await store.enqueue([aJob({ delay: 60_000 })])
      expect(await heard.opened).toBe(':later')
    }
    expect(await notifyingOf(delayed)).toEqual(['after'])
    expect(wakes).toBe(0)
  })
})

it('an enqueue is lone after a gap, and not for a while after one that was slow', async () => {
  const runtime = simulate()
  const enqueues = new LoneEnqueues(runtime)
  const take = (ms: number) => enqueues.run(async (isLone) => runtime.advance(ms).then(() => isLone))
  expect(await take(1)).toBe(true)
  expect(await take(1)).toBe(false)
  await runtime.advance(20)
  expect(await take(11)).toBe(true)
  await runtime.advance(249)
  expect(await take(1)).toBe(false)
  await runtime.advance(20)
  expect(await take(1)).toBe(true)
})

describe('a notifier', () => {
  let database: TestDatabase
  let heard: string[]
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    cleanups.push(() => database.drop())
    heard = []
    const client = await connectTo(database.url)
    client.on('notification', ({ payload = '' }) => heard.push(payload))
    await client.query('listen oncue')
  })
  function notifierOn(url: string, together = false): PostgresNotifier {
    const client = poolOf(url)
    return new PostgresNotifier('oncue', (query) => client.query(query), together)
  }

  it('notifies once, and at once, when it was idle', async () => {
    const notifier = notifierOn(database.url)
    notifier.notify(['default'])
    await expect.poll(() => heard).toEqual(['default'])
    await notifier.close()
    expect(heard).toEqual(['default'])
  })

  it('turns a burst of 1,000 enqueues into few notifications, the last one after the last enqueue', async () => {
    const notifier = notifierOn(database.url)
    const client = poolOf(database.url)
    let beforeLast = 0
    await Promise.all(
      Array.from({ length: 1_000 }, async (_, n) => {
        await client.query({ text: 'select 1', values: [] })
        if (n === 999) beforeLast = heard.length
        notifier.notify(['default'])
      }),
    )
    await expect.poll(() => heard.length).toBeGreaterThan(beforeLast)
    await notifier.close()
    expect(heard.length).toBeLessThan(100)
  })

  it('does not delay a single enqueue once the one before was delivered', async () => {
    const client = poolOf(database.url)
    let sent = 0
    const notifier = new PostgresNotifier('oncue', async (query) => {
      sent += 1
      await client.query(query)
    })
    for (let n = 1; n <= 5; n++) {
      notifier.notify(['default'])
      await Promise.resolve()
      // In the same turn of the event loop: no timer was involved.
      expect(sent).toBe(n)
      await expect.poll(() => heard.length).toBe(n)
      await new Promise(setImmediate)
    }
    await notifier.close()
  })

  it('does not change the durability of the transaction that a caller notifies in', async () => {
    const client = await connectTo(database.url)
    await client.query('begin')
    for (const { text, values } of wakeStatements(['default'])) await client.query(text, values)
    expect((await client.query('show synchronous_commit')).rows).toEqual([{ synchronous_commit: 'on' }])
    await client.query('commit')
    await expect.poll(() => heard).toEqual(['default'])
  })

  it('never has two notifications of one queue in flight, and delays no queue for another', async () => {
    const client = poolOf(database.url)
    const underWay: string[] = []
    let most = 0
    const busy = new Gate()
    const notifier = new PostgresNotifier('oncue', async (query) => {
      const [queue = ''] = query.values[0] as string[]
      underWay.push(queue)
      most = Math.max(most, underWay.filter((other) => other === queue).length)
      if (queue === 'busy') await busy.opened
      await client.query(query)
      underWay.splice(underWay.indexOf(queue), 1)
    })
    for (let n = 0; n < 5; n++) {
      notifier.notify(['busy'])
      await client.query({ text: 'select 1', values: [] })
    }
    notifier.notify(['quiet'])
    await expect.poll(() => heard).toContain('quiet')
    busy.open()
    await notifier.close()
    expect(most).toBe(1)
    expect(heard.filter((queue) => queue === 'busy').length).toBeLessThanOrEqual(2)
  })

  it('sends many names together for jobs, but not for queues', async () => {
    let statements = 0
    const client = poolOf(database.url)
    const send = (query: Parameters<PostgresClient['query']>[0]) => {
      statements += 1
      return client.query(query)
    }
    const notifier = new PostgresNotifier('oncue', send, true)
    const names = Array.from({ length: 100 }, (_, n) => `job ${n}`)
    for (const name of names) notifier.notify([name])
    await notifier.close()
    await expect.poll(() => heard).toEqual(names)
    expect(statements).toBe(1)
  })

  it('does not fail while the database is down, and works when it is back', async () => {
    let isAway = true
    const client = poolOf(database.url)
    const notifier = new PostgresNotifier('oncue', async (query) => {
      if (isAway) throw new Error('connection refused')
      await client.query(query)
    })
    notifier.notify(['default'])
    await Promise.resolve()
    await Promise.resolve()
    isAway = false
    notifier.notify(['default'])
    await notifier.close()
    await expect.poll(() => heard).toEqual(['default'])
  })
})

async function startProxy(url: string): Promise<Relay> {
  const relay = await Relay.start(url)
  cleanups.push(() => relay.close())
  return relay
}
