import { defineJobs, defineWorkers, job } from '@oncue/core'
import { createQueue, migrationStatus } from '@oncue/db'
import { createDatabase, DIALECTS, openPool, type TestDatabase } from '@oncue/db/testing'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createTestWorker, type TestWorker } from '../src/testing.ts'

const HOUR = 3_600_000
const START = new Date('2026-01-01T00:00:00Z')

const jobs = defineJobs({
  refund: job({
    input: z.object({ cents: z.int() }),
    output: z.object({ refunded: z.boolean() }),
    signals: { bank: z.object({ ok: z.boolean() }) },
  }),
  plain: job({ input: z.object({}), output: z.int() }),
  trip: job({ input: z.object({}), signals: { go: z.null() } }),
})

describe.each(DIALECTS)('a test worker for durable jobs, on %s', (dialect) => {
  let database: TestDatabase
  let test: TestWorker<typeof jobs>
  /** What the handlers did outside of the database. */
  let effects: string[]
  /** Where a run dies, once. */
  let dies: string | undefined

  const diesAt = async (place: string) => {
    if (dies !== place) return
    dies = undefined
    await test.kill()
  }

  const workers = defineWorkers(jobs, {
    async refund({ payload }, ctx) {
      const receipt = await ctx.step('order', async () => {
        effects.push(`order ${payload.cents}`)
        await diesAt('in the step')
        return effects.length
      })
      await diesAt('after the step')
      await ctx.sleep('settle', '1h')
      await ctx.step('ask', () => effects.push(`receipt ${receipt}`))
      const said = await ctx.receive('bank', { timeout: '7d' })
      return { refunded: !said.timedOut && said.value.ok }
    },
    async trip(_job, ctx) {
      await ctx.step('fly', () => effects.push('fly'))
      await ctx.undo('unfly', () => void effects.push('unfly'))
      await ctx.step('sleep', () => effects.push('sleep'))
      await ctx.undo('unsleep', async () => {
        effects.push('unsleep')
        await diesAt('in the undo')
      })
      await ctx.receive('go')
    },
    async plain() {
      effects.push('plain')
      await diesAt('in the handler')
      return 7
    },
  })

  beforeEach(async () => {
    database = await createDatabase(dialect)
    test = await createTestWorker({ jobs, workers, url: database.url, now: START })
    effects = []
    dies = undefined
  })
  afterEach(async () => {
    await test.close()
    await database.drop()
  })

  it('skips time and gives signals', async () => {
    const id = await test.enqueue('refund', { cents: 500 })
    const [asleep] = await test.drain()
    expect(asleep).toMatchObject({ id, status: 'pending', waits: { for: [{ name: 'settle' }] } })
    expect(await test.advance(HOUR - 1)).toEqual([])
    const [waiting] = await test.advance(1)
    expect(waiting?.waits?.for).toMatchObject([
      { name: 'bank', until: new Date(START.getTime() + 169 * HOUR).toISOString() },
    ])
    await test.signal(id, 'bank', { ok: true })
    expect(await test.drain()).toMatchObject([{ status: 'completed', result: { refunded: true } }])
    expect(effects).toEqual(['order 500', 'receipt 1'])
    expect(test.now()).toEqual(new Date(START.getTime() + HOUR))
  })

  it('lets a wait time out at its time', async () => {
    await test.enqueue('refund', { cents: 500 })
    const done = (await test.advance(1_000 * HOUR)).at(-1)
    expect(done).toMatchObject({ status: 'completed', result: { refunded: false } })
    expect(done?.finishedAt).toEqual(new Date(START.getTime() + 169 * HOUR))
  })

  it('kills a run in a step: nothing is settled, and the step runs again', async () => {
    dies = 'in the step'
    const id = await test.enqueue('refund', { cents: 500 })
    const [killed] = await test.drain()
    expect(killed).toMatchObject({ id, status: 'processing', run: 1 })
    expect(await test.store.durable.outcomes(id)).toEqual([])

    const [again] = await test.drain()
    expect(again).toMatchObject({ id, run: 2, waits: { for: [{ name: 'settle' }] } })
    expect(again?.events.map(({ type }) => type)).toContain('run_crashed')
    expect(effects).toEqual(['order 500', 'order 500'])
    await test.advance(HOUR)
    expect(effects).toEqual(['order 500', 'order 500', 'receipt 2'])
  })

  it('kills a run after a step: the next one gets its result', async () => {
    dies = 'after the step'
    const id = await test.enqueue('refund', { cents: 500 })
    expect(await test.advance(HOUR)).toMatchObject([{ status: 'processing' }])
    expect(test.now()).toEqual(START)
    await test.advance(HOUR)
    await test.signal(id, 'bank', { ok: false })
    expect(await test.drain()).toMatchObject([{ status: 'completed', result: { refunded: false } }])
    expect(effects).toEqual(['order 500', 'receipt 1'])
  })

  it('undoes a cancelled job, and kills a run in an undo, which runs again', async () => {
    const id = await test.enqueue('trip', {})
    await test.drain()
    await test.store.cancel([id])
    dies = 'in the undo'
    expect(await test.drain()).toMatchObject([{ id, status: 'processing', run: 2 }])
    dies = undefined
    expect(await test.drain()).toMatchObject([{ id, status: 'cancelled', run: 3, crashes: 1 }])
    expect(effects).toEqual(['fly', 'sleep', 'unsleep', 'unsleep', 'unfly'])
  })

  it('kills plain jobs too, which run again', async () => {
    dies = 'in the handler'
    expect(await test.run('plain', {})).toMatchObject({ status: 'processing', result: null })
    expect(await test.drain()).toMatchObject([{ status: 'completed', result: 7, crashes: 1 }])
    expect(effects).toEqual(['plain', 'plain'])
    expect(() => test.kill()).toThrow('there is no run to kill')
  })

  // On SQLite they are delivered by the transaction itself.
  it.runIf(dialect === 'postgres')('delivers signals of a transaction once it is committed', async () => {
    const id = await test.enqueue('refund', { cents: 500 })
    await test.advance(HOUR)
    const queue = createQueue({ jobs, store: test.store })
    const pool = openPool({ connectionString: database.url })
    const tx = await pool.connect()
    await tx.query('begin')
    await queue.signal(id, 'bank', { ok: true }, { tx })
    expect(await test.drain()).toEqual([])
    await tx.query('commit')
    tx.release()
    await pool.end()
    expect(await test.drain()).toMatchObject([{ status: 'completed', result: { refunded: true } }])
  })

  it('has the types of the signals, and their checks', async () => {
    const id = await test.enqueue('refund', { cents: 500 })
    // @ts-expect-error the signal has another shape
    await expect(test.signal(id, 'bank', { okay: true })).rejects.toMatchObject({ code: 'INVALID_SIGNAL' })
    // @ts-expect-error no topic has it
    await expect(test.signal(id, 'bnak', { ok: true })).rejects.toMatchObject({ code: 'UNKNOWN_SIGNAL' })
    expectTypeOf(test.kill).returns.toEqualTypeOf<Promise<never>>()
  })

  it('has a schema of its own, and removes it', async () => {
    const other = await createTestWorker({ jobs, workers, url: database.url })
    await test.enqueue('plain', {})
    expect(await other.drain()).toEqual([])
    const { schema } = other.store
    await other.close()
    const left = await migrationStatus(database.url, { schema })
    expect(left.migrations.every(({ state }) => state === 'pending')).toBe(true)
    expect(await test.drain()).toHaveLength(1)
  })
})
