import { defineJobs, defineWorkers, type JobId, job, PermanentError, prepareJob } from '@oncue/core'
import { toBatch } from '@oncue/core/internal'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createTestWorker } from '../src/testing.ts'
import { describeBoth } from './harness.ts'

const any = { input: z.unknown(), output: z.unknown(), retry: false, signals: { go: z.null() } } as const
const jobs = defineJobs({ parent: job(any), child: job(any), after: job(any), fallback: job(any) })

describeBoth('an undone parent in a batch', (bench) => {
  async function world(isFailing: () => boolean) {
    const did: string[] = []
    const workers = defineWorkers(jobs, {
      async parent(_job, ctx) {
        await ctx.undo('parent', () => void did.push('undo parent'))
        return ctx.all([ctx.spawn('child', 'a'), ctx.spawn('child', 'b')])
      },
      async child({ payload }, ctx) {
        await ctx.undo('child', () => void did.push(`undo ${payload}`))
        await ctx.step('work', () => void did.push(`work ${payload}`))
        if (payload === 'b' && isFailing()) throw new PermanentError('no')
        await ctx.receive('go')
        return payload
      },
      after: () => did.push('after'),
      async fallback(_job, ctx) {
        for await (const { status } of ctx.waitedFor()) did.push(`fallback after ${status}`)
      },
    })
    const test = await createTestWorker({ jobs, workers, url: bench.url })
    bench.defer(() => test.close())
    const prepare = (topic: keyof typeof jobs) => prepareJob(topic, null, {}, jobs[topic])
    const batch = toBatch([prepare('parent')], prepare('after'), prepare('fallback'))
    await test.store.enqueue(batch)
    await test.drain()
    const [parent] = batch.map(({ id }) => id) as [JobId]
    const children = async () =>
      ((await test.store.tree(parent))?.jobs ?? []).filter(({ topic }) => topic === 'child')
    const go = async () => {
      for (const { id } of await children()) await test.signal(id, 'go', null).catch(() => {})
      await test.drain()
    }
    return { test, did, parent, children, go, taken: () => did.splice(0).toSorted() }
  }

  it('is undone before its children and the batch learn that it was cancelled; a requeue spawns others', async () => {
    const { test, did, parent, children, go, taken } = await world(() => false)
    expect(taken()).toEqual(['work a', 'work b'])
    await test.store.cancel([parent])
    expect((await children()).map(({ status }) => status)).toEqual(['blocked', 'blocked'])
    await test.drain()
    expect(did[0]).toBe('undo parent')
    expect(taken()).toEqual(['fallback after cancelled', 'undo a', 'undo b', 'undo parent'])
    await test.store.requeue([parent])
    await test.drain()
    expect(taken()).toEqual(['work a', 'work b'])
    await go()
    expect(taken()).toEqual(['after'])
    const ends = (await children()).map(({ status }) => status)
    expect(ends.toSorted()).toEqual(['cancelled', 'cancelled', 'completed', 'completed'])
  })

  it('is not put back with a failed child, which it would spawn again', async () => {
    let isFailing = true
    const { test, parent, children, go, taken } = await world(() => isFailing)
    await go()
    expect((await test.store.get(parent))?.lastError?.code).toBe('CHILDREN_FAILED')
    expect(taken()).toContain('undo parent')
    isFailing = false
    const failed = (await children()).filter(({ status }) => status === 'failed')
    await test.store.requeue(failed.map(({ id }) => id))
    await test.drain()
    expect(taken()).toEqual(['work b'])
    expect((await test.store.get(parent))?.status).toBe('failed')
    await test.store.requeue([parent])
    await test.drain()
    expect(taken()).toEqual(['work a', 'work b'])
  })
})
