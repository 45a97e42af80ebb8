import { randomBytes } from 'node:crypto'
import { defineJobs, defineWorkers, job } from '@oncue/core'
import { createQueue } from '@oncue/db'
import { connectPostgres } from '@oncue/db/testing'
import { expect, it, test } from 'vitest'
import { z } from 'zod'
import { shareConnections } from '../src/connections.ts'
import { describePostgres, TestLog } from './harness.ts'

const jobs = defineJobs({
  plain: job({ input: z.number(), output: z.number() }),
  retried: job({ input: z.null(), retry: { max: 1, strategy: 'fixed', baseDelay: 0 } }),
  durable: job({ input: z.null() }),
})

test('connections are shared by what a worker needs', () => {
  expect(shareConnections(undefined)).toEqual({})
  expect(shareConnections(3)).toEqual({ poolSize: 1, lease: 'inline' })
  expect(shareConnections(5)).toEqual({ poolSize: 3, lease: 'inline' })
  expect(shareConnections(6)).toEqual({ poolSize: 2 })
  expect(shareConnections(14)).toEqual({ poolSize: 10 })
})

describePostgres('a worker with three connections', (bench) => {
  /** The same database, as a login that the server refuses any further one. */
  async function withAtMost(connections: number) {
    const owner = await connectPostgres(bench.url)
    const name = `oncue_few_${randomBytes(4).toString('hex')}`
    const url = new URL(bench.url)
    await owner.query(`create role ${name} login password 'few' connection limit ${connections}`)
    await owner.query(`grant ${decodeURIComponent(url.username)} to ${name}`)
    bench.defer(async () => {
      await owner.query(`drop role ${name}`)
      await owner.end()
    })
    url.username = name
    url.password = 'few'
    const held = async () => {
      const sql = `select application_name from pg_stat_activity where usename = '${name}'`
      return (await owner.query(sql)).map(([application]) => String(application).slice(0, 14)).sort()
    }
    return { url: url.href, held }
  }

  it('never asks for a fourth, whatever its jobs do', async () => {
    const { poolSize, lease } = shareConnections(3)
    const { url, held } = await withAtMost(3)
    const store = await bench.open({ url, poolSize })
    const log = new TestLog()
    const results: unknown[] = []
    const workers = defineWorkers(jobs, {
      plain: ({ payload }) => payload,
      retried({ run }) {
        if (run === 1) throw new Error('not yet')
      },
      async durable(_, ctx) {
        const many = await ctx.step.each('square', [1, 2, 3], async (n) => n * n)
        results.push(...many, ...(await ctx.all([ctx.spawn('plain', 7)])))
      },
    })
    const worker = await bench.start({ store, workers, log, lease, maintenance: {} })
    const producer = createQueue({ store: await bench.open(), jobs })
    await producer.enqueueMany(Array.from({ length: 300 }, (_, n) => ({ topic: 'plain', payload: n })))
    await producer.enqueueMany(Array.from({ length: 20 }, () => ({ topic: 'retried', payload: null })))
    await producer.enqueue('durable', null)
    await worker.drain()
    expect(await held()).toEqual(['oncue', 'oncue listener', 'oncue presence'])
    expect(results).toEqual([1, 4, 9, 7])
    expect(await store.stats()).toMatchObject({ completed: 322, failed: 0, pending: 0 })
    expect(new Set([...log.of('warn'), ...log.of('error')])).toEqual(new Set(['run failed; will retry']))
  })
})
