import type { JobId } from '@oncue/core'
import pg from 'pg'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { openStore } from '../src/open.ts'
import * as sql from '../src/postgres/sql.ts'
import { deliver } from '../src/postgres/sql-durable.ts'
import type { ClaimedJob, Settlement, Store } from '../src/store.ts'
import { awaiting, claimChildren, spawn, suspend } from './conformance/children.ts'
import { aJob, anError, claimOne, complete, WORKER } from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

/** What happens at the moment at which a parent is suspended: tried in every order, and nothing may be lost. */
type Act = { readonly settle: Settlement } | { readonly deliver: JobId }

/** A parent that waits for two children, one of which fails. */
async function endings(store: Store): Promise<{ parent: ClaimedJob; acts: Act[] }> {
  await store.enqueue([aJob()])
  const parent = await claimOne(store)
  const ids = await spawn(store, parent, 2)
  const [a, b] = (await claimChildren(store)) as [ClaimedJob, ClaimedJob]
  const { id, run } = b
  const settlements: Settlement[] = [
    suspend(parent, awaiting(ids)),
    complete(a),
    { id, run, kind: 'fail', error: anError },
  ]
  return { parent, acts: settlements.map((settle) => ({ settle })) }
}

/** A parent that waits for a signal. */
async function signalling(store: Store): Promise<{ parent: ClaimedJob; acts: Act[] }> {
  await store.enqueue([aJob()])
  const parent = await claimOne(store)
  const wait = { kind: 'signal', name: 'bank', key: 'receive:bank#1', after: 0 } as const
  return { parent, acts: [{ settle: suspend(parent, wait) }, { deliver: parent.id }] }
}

/** The parent is resumed, once. */
async function expectResumed(store: Store, parent: ClaimedJob, order: string): Promise<void> {
  const found = await store.get(parent.id)
  expect([order, found?.status, found?.waits]).toEqual([order, 'pending', null])
  const again = await claimOne(store)
  expect([again.id, again.run]).toEqual([parent.id, 2])
  await store.settle([complete(again)], WORKER)
}

/** Every order of these. */
function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, n) => permutations(items.toSpliced(n, 1)).map((rest) => [item, ...rest]))
}

/** Every interleaving of so many transactions that each act and then commit: `0` acts or, the second time, commits. */
function interleavings(count: number): number[][] {
  const left = (lefts: readonly number[]): number[][] => {
    if (lefts.every((n) => n === 0)) return [[]]
    return lefts.flatMap((n, i) => (n === 0 ? [] : left(lefts.with(i, n - 1)).map((rest) => [i, ...rest])))
  }
  return left(Array.from({ length: count }, () => 2))
}

describe('a parent that is suspended while its children end', () => {
  it('is resumed, in every order of their writes, on SQLite', async () => {
    const database = await createSqliteDatabase()
    const store = await openStore(database.url)
    onTestFinished(async () => {
      await store.close()
      await database.drop()
    })
    for (const order of permutations([0, 1, 2])) {
      const { parent, acts } = await endings(store)
      for (const n of order) {
        const act = acts[n]
        if (act && 'settle' in act) await store.settle([act.settle], WORKER)
      }
      await expectResumed(store, parent, order.join())
    }
    for (const order of permutations([0, 1])) {
      const { parent, acts } = await signalling(store)
      for (const n of order) {
        const act = acts[n]
        if (act && 'settle' in act) await store.settle([act.settle], WORKER)
        else await store.durable.signal({ id: parent.id, name: 'bank', data: '1' })
      }
      await expectResumed(store, parent, order.join())
    }
  })

  it('is resumed, in every interleaving of their transactions, on Postgres', {
    timeout: 120_000,
  }, async () => {
    const database = await createPostgresDatabase(inject('postgresUrl'))
    const store = await openStore(database.url)
    const clients = Array.from({ length: 3 }, () => new pg.Client(database.url))
    const watcher = new pg.Client(database.url)
    await Promise.all([...clients, watcher].map((client) => client.connect()))
    onTestFinished(async () => {
      await Promise.all([...clients, watcher].map((client) => client.end()))
      await store.close()
      await database.drop()
    })
    const pids = await Promise.all(
      clients.map(async (client) => (await client.query('select pg_backend_pid() as pid')).rows[0].pid),
    )
    const isBlocked = async (n: number) =>
      (await watcher.query('select cardinality(pg_blocking_pids($1)) > 0 as blocked', [pids[n]])).rows[0]
        .blocked

    async function explore(order: readonly number[], acts: readonly Act[]): Promise<void> {
      const pending = acts.map(() => 0)
      const begun = new Set<number>()
      const done: Promise<unknown>[] = []
      const send = (n: number, query: string | { text: string; values: readonly unknown[] }) => {
        pending[n] = (pending[n] ?? 0) + 1
        const { text, values } = typeof query === 'string' ? { text: query, values: [] } : query
        const sent = clients[n]?.query(text, [...values]).finally(() => {
          pending[n] = (pending[n] ?? 0) - 1
        })
        done.push(sent ?? Promise.reject(new Error('no client')))
      }
      for (const n of order) {
        const act = acts[n]
        if (!act) continue
        if (begun.has(n)) send(n, 'commit')
        else {
          begun.add(n)
          send(n, 'begin')
          send(n, 'settle' in act ? sql.settle([act.settle], null, WORKER) : deliver(act.deliver, null))
        }
        // It is done, or waits for another, whose commit comes later.
        while (pending[n] !== 0 && !(await isBlocked(n)));
      }
      await Promise.all(done)
    }

    for (const order of interleavings(3)) {
      const { parent, acts } = await endings(store)
      await explore(order, acts)
      await expectResumed(store, parent, order.join())
    }
    for (const order of interleavings(2)) {
      const { parent, acts } = await signalling(store)
      const text = `insert into oncue.signals (job_id, id, name, data, created) values ($1, gen_random_uuid(), 'bank', '1', now())`
      await watcher.query(text, [parent.id])
      await explore(order, acts)
      await expectResumed(store, parent, order.join())
    }
  })
})
