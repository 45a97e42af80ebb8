import { defineJobs, defineWorkers, job } from '@oncue/core'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createClashWatch } from '../src/maintenance/topic-clashes.ts'
import { describeBoth, TestLog, until } from './harness.ts'

const reporting = (input: z.ZodType) => {
  const jobs = defineJobs({ report: job({ input }), other: job({ input: z.object({}) }) })
  return defineWorkers(jobs, { report: () => {}, other: () => {} })
}

const byDay = reporting(z.object({ day: z.string() }))
const byMonth = reporting(z.object({ month: z.string() }))

describeBoth('two services with different schemas of one topic', (bench) => {
  const clash = (service: string) =>
    `topic report has a different schema in service ${service}; its jobs may fail in either`

  it('are logged by the workers of both, once, and again when the clash comes back', async () => {
    const store = await bench.open()
    const [ofFirst, ofSecond] = [new TestLog(), new TestLog()]
    const first = await bench.start({ store, service: 'billing', workers: byDay })
    const watch = createClashWatch({ store, worker: first.id, log: ofFirst })
    await watch.look()
    expect(ofFirst.lines).toEqual([])

    const second = await bench.start({ store, service: 'reports', workers: byMonth, log: ofSecond })
    await until(() => ofSecond.of('warn').length > 0)
    expect(ofSecond.of('warn')).toEqual([clash('billing')])
    for (let n = 0; n < 2; n++) await watch.look()
    expect(ofFirst.lines).toEqual([{ level: 'warn', message: clash('reports'), fields: { topic: 'report' } }])

    await second.stop()
    await watch.look()
    await bench.start({ store, service: 'reports', workers: byMonth })
    await watch.look()
    expect(ofFirst.of('warn')).toEqual([clash('reports'), clash('reports')])
  })

  it('are not logged by workers that do not serve the topic', async () => {
    const store = await bench.open()
    const log = new TestLog()
    const workers = { bystander: async () => {} }
    const { id } = await bench.start({ store, service: 'mailing', workers })
    await bench.start({ store, service: 'billing', workers: byDay })
    await bench.start({ store, service: 'reports', workers: byMonth })
    expect(await store.topicClashes()).toHaveLength(1)
    await createClashWatch({ store, worker: id, log }).look()
    expect(log.lines).toEqual([])
  })
})
