import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineJobs, defineWorkers, type Handlers, type JobContext, job } from '@oncue/core'
import { toRegistry } from '@oncue/core/internal'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { dryRun } from '../src/dry-run/dry-run.ts'
import { DryRuns, RUN_MS } from '../src/dry-run/dry-runs.ts'
import { Execution } from './execution.ts'
import { Bench, describeBoth } from './harness.ts'

const jobs = defineJobs({
  order: job({
    input: z.unknown(),
    signals: { bank: z.null() },
    retry: { max: 2, strategy: 'fixed', baseDelay: 0 },
  }),
})
type Handle = NonNullable<Handlers<typeof jobs>['order']>
const OK = z.object({ ok: z.boolean() })

/** A job after its first run. */
async function begun(bench: Bench, order: Handle) {
  const execution = await Execution.on(bench, defineWorkers(jobs, { order }))
  const { id } = await execution.run('order')
  const { store } = execution
  return {
    store,
    id,
    /** Without what the next handler does in steps. */
    async repeat(next: Handle = order) {
      const registry = toRegistry(defineWorkers(jobs, { order: next }))
      const [found, worker] = [await store.get(id), registry.get('order')]
      if (!found || !worker) throw new Error('the job is gone')
      const outcomes = await store.durable.outcomes(id)
      const reads = { results: store.durable.results, waitedFor: store.waitedFor.bind(store) }
      const { events: _, ...rest } = found
      const end = await dryRun(rest, outcomes, worker, {
        registry,
        middleware: [],
        reads,
        runtime: systemRuntime,
      })
      expect(await store.get(id)).toEqual(found)
      expect(await store.durable.outcomes(id)).toEqual(outcomes)
      return end
    },
  }
}

describeBoth('a dry run', (bench) => {
  it('stops at the first call that is not recorded, and begins nothing', async () => {
    const worked: string[] = []
    const { repeat } = await begun(bench, async (_job, ctx) => {
      await ctx.step('a', () => 1)
      await ctx.undo('not a', () => worked.push('undone'))
      throw new Error('not today')
    })
    const end = await repeat(async (_job, ctx) => {
      await ctx.step('a', () => worked.push('a'))
      await ctx.undo('not a', () => worked.push('undone'))
      await ctx.emit('new')
      await ctx.checkpoint('new')
      ctx.progress('new')
      await ctx.step('b', () => worked.push('b'))
    })
    expect(end).toMatchObject({ how: 'stopped', missing: [], stopsAt: ['step:b'] })
    expect(worked).toEqual([])
  })

  it.each<[string, Handle, string]>([
    ['a receive', (_job, ctx) => ctx.receive('bank'), 'receive:bank'],
    ['a question', (_job, ctx) => ctx.ask('approve', 'Ok?', OK), 'ask:approve'],
    ['a sleep', (_job, ctx) => ctx.sleep('nap', '1h'), 'sleep:nap'],
    ['children', async (_job, ctx) => ctx.all([ctx.spawn('order', 1)]), 'all#1'],
    [
      'a step that pauses',
      (_job, ctx) =>
        ctx.step('a', () => Promise.reject(new Error('no')), { retry: { baseDelay: 3_600_000 } }),
      'step:a',
    ],
  ])('expects the handler to come to %s for which its job waits', async (_, order, key) => {
    const { repeat } = await begun(bench, order)
    expect(await repeat()).toMatchObject({ how: 'stopped', missing: [] })
    expect(await repeat(() => null)).toMatchObject({
      how: 'returned',
      missing: expect.arrayContaining([key]),
    })
  })

  it('of a job that is being undone undoes nothing', async () => {
    const undone: string[] = []
    const { repeat, store, id } = await begun(bench, async (_job, ctx) => {
      await ctx.undo('a', () => undone.push('a'))
      await ctx.receive('bank')
    })
    await store.cancel([id])
    expect(await repeat()).toMatchObject({ how: 'stopped', missing: [], stopsAt: ['receive:bank#1'] })
    expect(undone).toEqual([])
  })
})

describe('the processes of dry runs', () => {
  // They have no database.
  const bench = new Bench('sqlite')

  it('are killed where a handler blocks them, and replaced where one throws beside its promise', async () => {
    const asleep = (_job: unknown, ctx: JobContext) => ctx.sleep('a', '1h')
    const topics = { loops: asleep, dies: asleep, fits: asleep, leaves: asleep }
    const execution = await Execution.on(bench, topics)
    const { store } = execution
    // As long as a start may take, and less for a run.
    const hasty: Runtime = {
      ...systemRuntime,
      after: (ms, then) => systemRuntime.after(ms === RUN_MS ? 500 : ms, then),
    }
    const reads = { results: store.durable.results, waitedFor: store.waitedFor.bind(store) }
    const runs = new DryRuns([new URL('./dry-run-jobs.ts', import.meta.url).href], reads, hasty)
    onTestFinished(() => runs.close())
    const ends: unknown[] = []
    for (const topic of ['fits', 'loops', 'dies', 'leaves', 'fits']) {
      const found = await execution.run(topic)
      ends.push(await runs.run(found, await store.durable.outcomes(found.id)))
    }
    expect(ends).toMatchObject([
      { how: 'stopped', missing: [], stopsAt: ['sleep:a'] },
      { how: 'stuck' },
      { how: 'threw', error: { name: 'PermanentError', message: 'no listener' } },
      { how: 'stopped', missing: [] },
      // Not what the job before it threw.
      { how: 'stopped', missing: [] },
    ])
  })

  it('write no file through node:sqlite, and send no signal', async () => {
    const asleep = (_job: unknown, ctx: JobContext) => ctx.sleep('a', '1h')
    const execution = await Execution.on(bench, { writes: asleep, kills: asleep })
    const { store } = execution
    const reads = { results: store.durable.results, waitedFor: store.waitedFor.bind(store) }
    const runs = new DryRuns([new URL('./dry-run-jobs.ts', import.meta.url).href], reads)
    onTestFinished(() => runs.close())
    const file = join(tmpdir(), `${randomUUID()}.db`)
    onTestFinished(() => rmSync(file, { force: true }))
    const denied = { how: 'threw', error: { code: 'ERR_ACCESS_DENIED' } }
    for (const [topic, payload] of [
      ['writes', file],
      ['kills', process.pid],
    ] as const) {
      const found = await execution.run(topic, payload)
      expect(await runs.run(found, await store.durable.outcomes(found.id))).toMatchObject(denied)
    }
    expect(existsSync(file)).toBe(false)
  })
})
