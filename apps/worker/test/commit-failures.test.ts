import { defineJobs, defineWorkers, job, type Transactions } from '@oncue/core'
import { createQueue, type Store } from '@oncue/db'
import { createDatabase, openPool } from '@oncue/db/testing'
import { idsIn, type TransactionService, transactionHosts } from '@oncue/db/testing/transactions'
import { Relay } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createTestWorker } from '../src/testing.ts'
import { Bench, describeBoth, describePostgres, Gate, TestLog, until } from './harness.ts'

const jobs = defineJobs({ book: job({ input: z.object({ id: z.string() }), output: z.unknown() }) })
type Asynchronous = Transactions<unknown, 'async'>
type Handlers = Parameters<typeof defineWorkers<typeof jobs, Asynchronous>>[1]

async function openHost(bench: Bench, name: string, url = bench.url): Promise<TransactionService> {
  const host = transactionHosts.find((host) => host.name === name && host.dialect === bench.dialect)
  if (!host) throw new Error(`no host ${name} on ${bench.dialect}`)
  const service = await host.open(url)
  bench.defer(() => service.close())
  return service
}

async function testOf(bench: Bench, { transactions, run }: TransactionService, handlers: Handlers) {
  await transactions.open((tx) => run(tx, 'create table booked (id text)'))
  const workers = defineWorkers(jobs, handlers, { transactions: transactions as Asynchronous })
  const test = await createTestWorker({ jobs, workers, url: bench.url })
  bench.defer(() => test.close())
  return { test, booked: () => idsIn(bench.url, 'booked') }
}

const POSTGRES = transactionHosts.filter(({ dialect }) => dialect === 'postgres')

describe.each(POSTGRES)('a commit with $name that loses to another transaction', ({ name }) => {
  const bench = new Bench('postgres')

  it('is repeated after a serialization failure', async () => {
    const service = await openHost(bench, name)
    const { run } = service
    const other = openPool({ connectionString: bench.url })
    bench.defer(() => other.end())
    await other.query('create table counters (n integer)')
    await other.query('insert into counters values (0)')
    let works = 0
    const { test, booked } = await testOf(bench, service, {
      async book({ payload }, ctx) {
        return ctx.commit('row', async (tx) => {
          works += 1
          await run(tx, 'set transaction isolation level serializable')
          await run(tx, `insert into booked values ('${payload.id}')`)
          await run(tx, 'select n from counters')
          if (works === 1) await other.query('update counters set n = n + 1')
          await run(tx, 'update counters set n = n + 1')
          return works
        })
      },
    })
    const done = await test.run('book', { id: 'a' })
    expect([done.status, done.result, works, await booked()]).toEqual(['completed', 2, 2, ['a']])
    expect((await other.query('select n from counters')).rows).toEqual([{ n: 2 }])
  })
})

/** What each sends to commit. postgres.js has prepared it, and MikroORM never closes a pool whose connection broke. */
const COMMITS = {
  pg: 'commit\0',
  Drizzle: 'commit\0',
  Kysely: 'commit\0',
  Prisma: 'COMMIT',
  TypeORM: 'COMMIT',
  Knex: 'COMMIT',
}

describe.each(Object.entries(COMMITS))('a commit with %s whose connection breaks', (name, text) => {
  const bench = new Bench('postgres')

  it('is not repeated if it was committed and the answer was lost', async () => {
    const relay = await Relay.start(bench.url)
    bench.defer(() => relay.close())
    const service = await openHost(bench, name, relay.url)
    let works = 0
    const { test, booked } = await testOf(bench, service, {
      async book({ payload }, ctx) {
        return ctx.commit('row', async (tx) => {
          works += 1
          await service.run(tx, `insert into booked values ('${payload.id}')`)
          relay.loseAnswerTo = text
          return works
        })
      },
    })
    const done = await test.run('book', { id: 'a' })
    expect(relay.loseAnswerTo).toBeUndefined()
    expect([done.status, done.result, works, await booked()]).toEqual(['completed', 1, 1, ['a']])
  })
})

describePostgres('a commit whose connection breaks before it is committed', (bench) => {
  it('is repeated', async () => {
    const service = await openHost(bench, 'pg')
    const other = openPool({ connectionString: bench.url })
    bench.defer(() => other.end())
    let works = 0
    const { test, booked } = await testOf(bench, service, {
      async book({ payload }, ctx) {
        return ctx.commit('row', async (tx) => {
          works += 1
          await service.run(tx, `insert into booked values ('${payload.id}')`)
          if (works > 1) return works
          const { rows } = await (tx as { query(sql: string): Promise<{ rows: { pid: number }[] }> }).query(
            'select pg_backend_pid() as pid',
          )
          await other.query('select pg_terminate_backend($1)', [rows[0]?.pid])
          return works
        })
      },
    })
    const done = await test.run('book', { id: 'a' })
    expect([done.status, done.result, works, await booked()]).toEqual(['completed', 2, 2, ['a']])
  })

  it('fails by the error of a constraint that is checked at the commit', async () => {
    const service = await openHost(bench, 'pg')
    let works = 0
    const { test, booked } = await testOf(bench, service, {
      async book({ payload }, ctx) {
        return ctx.commit('row', async (tx) => {
          works += 1
          for (const _ of [1, 2]) await service.run(tx, `insert into booked values ('${payload.id}')`)
        })
      },
    })
    await service.transactions.open((tx) =>
      service.run(tx, 'alter table booked add unique (id) deferrable initially deferred'),
    )
    const failed = await test.run('book', { id: 'a' })
    expect([failed.status, works, await booked()]).toEqual(['pending', 1, []])
    expect(failed.lastError?.message).toMatch('duplicate key')
  })
})

describePostgres(
  'a transaction of a handler that is the victim of a deadlock with another write of its job',
  (bench) => {
    /** Locks the job, as a cancellation does, and then waits for the row that `tx` has changed. */
    async function opponent({ run }: TransactionService, tx: unknown, job: string) {
      const pool = openPool({ connectionString: bench.url })
      await pool.query('select 1')
      const client = await pool.connect()
      // Postgres ends the transaction that is the first to look for a deadlock.
      await run(tx, `set local deadlock_timeout = '10ms'`)
      await client.query(`set deadlock_timeout = '10min'`)
      await client.query('begin')
      const locked = await client.query(`select 1 ${job} for update`)
      expect(locked.rows).toHaveLength(1)
      const ended = client
        .query('update counters set n = n + 100')
        .then(() => client.query('commit'))
        .finally(() => client.release())
      bench.defer(() => ended.then(() => pool.end()))
      const waits = 'select 1 from pg_locks where not granted'
      await until(async () => (await pool.query(waits)).rows.length > 0)
    }

    async function counting(handlers: (service: TransactionService) => Handlers) {
      const service = await openHost(bench, 'pg')
      await service.transactions.open((tx) => service.run(tx, 'create table counters as select 0 as n'))
      const counted = async () => {
        const pool = openPool({ connectionString: bench.url })
        const { rows } = await pool.query('select n from counters')
        await pool.end()
        return rows
      }
      return { ...(await testOf(bench, service, handlers(service))), counted }
    }

    it('is repeated, if it is a commit', async () => {
      let works = 0
      const { test, booked, counted } = await counting((service) => ({
        book: ({ id, payload }, ctx) =>
          ctx.commit('row', async (tx) => {
            works += 1
            await service.run(tx, `insert into booked values ('${payload.id}')`)
            await service.run(tx, 'update counters set n = n + 1')
            if (works === 1) await opponent(service, tx, `from ${test.store.schema}.jobs where id = '${id}'`)
            return works
          }),
      }))
      const done = await test.run('book', { id: 'a' })
      expect([done.status, done.result, works, await booked()]).toEqual(['completed', 2, 2, ['a']])
      expect(await counted()).toEqual([{ n: 101 }])
    })

    it('fails its run with nothing written, if it completes the job; the retry completes it', async () => {
      const { test, booked, counted } = await counting((service) => ({
        async book({ id, payload, retries }, ctx) {
          await service.transactions.open(async (tx) => {
            await service.run(tx, `insert into booked values ('${payload.id}')`)
            await service.run(tx, 'update counters set n = n + 1')
            if (retries === 0)
              await opponent(service, tx, `from ${test.store.schema}.jobs where id = '${id}'`)
            await ctx.complete(tx as never, retries)
          })
        },
      }))
      const retry = { max: 1, strategy: 'fixed', baseDelay: 1_000 } as const
      const failed = await test.run('book', { id: 'a' }, { retry })
      expect([failed.status, failed.lastError?.code, await booked()]).toEqual(['pending', '40P01', []])
      expect(await counted()).toEqual([{ n: 100 }])
      const [done] = await test.advance(1_000)
      expect([done?.status, done?.result, await booked()]).toEqual(['completed', 1, ['a']])
      expect(await counted()).toEqual([{ n: 101 }])
    })
  },
)

describe('a commit on SQLite', () => {
  const bench = new Bench('sqlite')

  it.each(['better-sqlite3', 'Kysely', 'Prisma'])('waits for another writer, with %s', async (name) => {
    const service = await openHost(bench, name)
    const other = await openHost(bench, 'Kysely')
    const refused = new Gate()
    const transactions: Transactions = {
      ...service.transactions,
      open: (work) =>
        service.transactions.open(work).catch((error) => {
          refused.open()
          throw error
        }),
    }
    const { test, booked } = await testOf(
      bench,
      { ...service, transactions },
      {
        async book({ payload }, ctx) {
          const written = new Gate()
          const writing = other.transactions.open(async (tx) => {
            await other.run(tx, `insert into booked values ('other')`)
            written.open()
            await refused.opened
          })
          await written.opened
          const insert = `insert into booked values ('${payload.id}')`
          // A synchronous library must not be given a promise.
          const isSync = transactions.mode === 'sync'
          await ctx.commit('row', (tx) =>
            isSync
              ? (service.run(tx, insert) as undefined)
              : Promise.resolve(service.run(tx, insert)).then(() => {}),
          )
          await writing
        },
      },
    )
    const done = await test.run('book', { id: 'a' })
    expect([done.status, await booked()]).toEqual(['completed', ['a', 'other']])
  })
})

describeBoth('ctx.commit and ctx.complete', (bench) => {
  const library = bench.dialect === 'postgres' ? 'pg' : 'Kysely'
  const codeOf = (error: unknown) => (error as { code?: string }).code

  it('refuse calls within a commit, and names that were used', async () => {
    const service = await openHost(bench, library)
    const codes: Record<string, unknown> = {}
    const { test } = await testOf(bench, service, {
      async book(_, ctx) {
        const within = {
          step: () => ctx.step('inner', () => 1),
          commit: () => ctx.commit('inner', () => 1),
          sleep: () => ctx.sleep('inner', 10),
          spawn: () => ctx.spawn('book', { id: 'b' }),
          emit: () => ctx.emit('told'),
          checkpoint: () => ctx.checkpoint(1),
        }
        await ctx.commit('outer', async (tx) => {
          for (const [name, call] of Object.entries(within)) codes[name] = await call().catch(codeOf)
          codes.complete = await ctx.complete(tx).catch(codeOf)
        })
        codes.again = await ctx.commit('outer', () => 1).catch(codeOf)
        codes.used = await ctx.step('outer', () => 1).catch(codeOf)
        codes.name = await ctx.commit('', () => 1).catch(codeOf)
        codes.inStep = await ctx.step('a step', () => ctx.commit('in it', () => 1).catch(codeOf))
      },
    })
    expect((await test.run('book', { id: 'a' })).status).toBe('completed')
    const [nested, twice] = ['NESTED_CALL', 'DUPLICATE_STEP']
    expect(codes).toEqual({
      ...{ step: nested, commit: nested, sleep: nested, spawn: nested, emit: nested, checkpoint: nested },
      ...{ complete: nested, again: twice, used: twice, name: 'INVALID_INPUT', inStep: nested },
    })
  })

  it('replays a failure that the handler survived, and fails for a result that cannot be stored', async () => {
    const service = await openHost(bench, library)
    const said: string[] = []
    const { test, booked } = await testOf(bench, service, {
      async book({ payload }, ctx) {
        await ctx
          .commit('row', async (tx) => {
            await service.run(tx, `insert into booked values ('${payload.id}')`)
            throw new TypeError('no')
          })
          .catch((error) => said.push(`${error.name}: ${error.message}`))
        await ctx.sleep('rest', '1h')
        await ctx.commit('big', async (tx) => {
          await service.run(tx, `insert into booked values ('${payload.id}')`)
          return 'x'.repeat(2 ** 21)
        })
      },
    })
    await test.enqueue('book', { id: 'a' })
    await test.drain()
    const [failed] = await test.advance(3_600_000)
    expect(said).toEqual(['TypeError: no', 'StepError: no'])
    expect([failed?.status, failed?.lastError?.code, await booked()]).toEqual([
      'failed',
      'INVALID_RESULT',
      [],
    ])
  })

  it('need transactions', async () => {
    const workers = defineWorkers(jobs, {
      async book({ payload }, ctx) {
        const call = ctx[payload.id as 'commit'] as (...args: unknown[]) => Promise<unknown>
        await call({}, () => 1)
      },
    })
    const test = await createTestWorker({ jobs, workers, url: bench.url })
    bench.defer(() => test.close())
    for (const id of ['commit', 'complete'])
      expect((await test.run('book', { id })).lastError?.code).toBe('TRANSACTIONS_NEEDED')
  })

  it('need transactions on the database and schema of the worker', async () => {
    const { transactions } = await openHost(bench, library)
    const workers = defineWorkers(jobs, { book: () => null }, { transactions })
    const database = await createDatabase(bench.dialect)
    bench.defer(() => database.drop())
    const store = await bench.open({ url: database.url })
    const message = 'the transactions given to defineWorkers are not on the database of the worker'
    await expect(bench.start({ store, workers })).rejects.toMatchObject({
      code: 'OTHER_DATABASE',
      message: expect.stringContaining(message),
    })
    // The file is another one than that of the test.
    const test = await createTestWorker({ jobs, workers: onlyCommits(transactions) })
    bench.defer(() => test.close())
    expect((await test.run('book', { id: 'a' })).lastError?.code).toBe('OTHER_DATABASE')
  })

  it('do not disturb heartbeats: a run that has completed its job goes on', async () => {
    const service = await openHost(bench, library)
    const { transactions, run } = service
    await transactions.open((tx) => run(tx, 'create table booked (id text)'))
    const store = await bench.open()
    const lost = new Set<string>()
    const watched = watchingBeats(store, (ids) => {
      for (const id of ids) lost.add(id)
    })
    const log = new TestLog()
    const aborted: boolean[] = []
    const workers = defineWorkers(
      jobs,
      {
        async book({ id, payload }, ctx) {
          await transactions.open(async (tx) => {
            await run(tx, `insert into booked values ('${payload.id}')`)
            await ctx.complete(tx, 'booked')
          })
          // A heartbeat says that the run owns no job any more.
          await until(() => lost.has(id))
          aborted.push(ctx.signal.aborted)
        },
      },
      { transactions },
    )
    const settled: string[] = []
    const onSettled = (_: unknown, { kind }: { kind: string }) => settled.push(kind)
    const worker = await bench.start({ store: watched, workers, log, leaseMs: 400, onSettled })
    const queue = createQueue({ store, jobs })
    const id = await queue.enqueue('book', { id: 'a' })
    await until(async () => (await store.get(id))?.status === 'completed')
    await worker.drain()
    expect([aborted, settled]).toEqual([[false], ['complete']])
    expect(worker.stats()).toMatchObject({ running: 0, unsettled: 0, stale: 0, lost: 0 })
    expect(worker.stats().settled.complete).toBe(1)
    expect(log.of('warn')).toEqual([])
    expect(await store.get(id)).toMatchObject({ status: 'completed', result: 'booked' })
  })
})

function onlyCommits(transactions: Transactions) {
  return defineWorkers(jobs, { book: (_, ctx) => ctx.commit('row', () => null) }, { transactions })
}

/** The real store; tells which runs a heartbeat found lost. */
function watchingBeats(store: Store, onLost: (ids: string[]) => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'heartbeat') return value.bind(target)
      const heartbeat: Store['heartbeat'] = async (request) => {
        const beaten = await target.heartbeat(request)
        onLost(beaten.lost.map(({ id }) => id))
        return beaten
      }
      return heartbeat
    },
  })
}

describe('better-sqlite3', () => {
  const bench = new Bench('sqlite')

  it('takes synchronous work only', async () => {
    const service = await openHost(bench, 'better-sqlite3')
    const { test, booked } = await testOf(bench, service, {
      async book({ payload }, ctx) {
        await ctx.commit('row', (async (tx: unknown) => {
          service.run(tx, `insert into booked values ('${payload.id}')`)
        }) as never)
      },
    })
    const failed = await test.run('book', { id: 'a' })
    expect(failed.lastError).toMatchObject({ code: 'INVALID_INPUT' })
    expect(failed.lastError?.message).toMatch('returned a promise')
    expect(await booked()).toEqual([])
  })

  it('commits in the temporary file of a test worker', async () => {
    const elsewhere = await openHost(bench, 'better-sqlite3')
    const opened: TransactionService[] = []
    const file = transactionHosts.find(({ name }) => name === 'better-sqlite3')
    const test = await createTestWorker({
      jobs,
      workers: onlyCommits(elsewhere.transactions),
      transactions({ url }) {
        const service = file?.open(url) as TransactionService
        opened.push(service)
        return service.transactions
      },
    })
    bench.defer(() => test.close())
    bench.defer(async () => opened[0]?.close())
    expect((await test.run('book', { id: 'a' })).status).toBe('completed')
  })
})
