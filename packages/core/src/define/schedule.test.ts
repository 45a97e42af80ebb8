import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineJobs, job } from './jobs.ts'
import { toRegistry } from './registry.ts'
import { defineWorkers } from './workers.ts'

const input = z.object({ folder: z.string().default('inbox') })

describe('a job with a schedule', () => {
  it('has a schedule, in UTC and with an empty payload by default', () => {
    expect(job({ input, cron: '0 9 * * *' }).schedule).toEqual({
      cron: '0 9 * * *',
      timezone: 'UTC',
      payload: {},
      missed: 'skip',
    })
    const told = job({
      input,
      cron: '@daily',
      timezone: 'Asia/Shanghai',
      cronPayload: { folder: 'sent' },
      missed: 'all',
    })
    expect(told.schedule).toEqual({
      cron: '@daily',
      timezone: 'Asia/Shanghai',
      payload: { folder: 'sent' },
      missed: 'all',
    })
    expect(job({ input }).schedule).toBeUndefined()
  })

  it('enqueues no payload where its input accepts none', () => {
    expect(job({ input: z.void(), cron: '@daily' }).schedule?.payload).toBeNull()
    expect(job({ input: z.string().default('inbox'), cron: '@daily' }).schedule?.payload).toBeNull()
    expect(job({ input: z.unknown(), cron: '@daily' }).schedule?.payload).toEqual({})
  })

  it('is described by the registry', () => {
    const jobs = defineJobs({ clean: job({ input, cron: '* * * * *' }) })
    const [topic] = toRegistry(defineWorkers(jobs, { clean() {} })).describe()
    expect(topic?.schedule).toMatchObject({ cron: '* * * * *' })
  })

  it.each<[string, object, string, string]>([
    ['an empty pattern', { cron: '' }, 'INVALID_INPUT', 'job.cron'],
    ['a zone without a pattern', { timezone: 'UTC' }, 'INVALID_INPUT', 'job.cron: is missing'],
    ['an unknown policy', { cron: '* * * * *', missed: 'some' }, 'INVALID_INPUT', 'job.missed'],
    [
      'a payload that the schema refuses',
      { cron: '* * * * *', cronPayload: { folder: 5 } },
      'INVALID_PAYLOAD',
      'payload.folder',
    ],
    [
      'a payload that is not JSON',
      { cron: '* * * * *', cronPayload: { folder: Number.NaN } },
      'INVALID_PAYLOAD',
      'payload.folder',
    ],
  ])('refuses %s when the module is loaded', (_, config, code, message) => {
    const define = () => job({ input, ...config } as never)
    expect(define).toThrow(expect.objectContaining({ code }))
    expect(define).toThrow(message)
  })

  it('refuses a schema that needs a payload without one', () => {
    expect(() => job({ input: z.object({ userId: z.string() }), cron: '@daily' })).toThrow('job.cronPayload')
  })

  it('does not compile with a payload of another type', () => {
    // @ts-expect-error folder is a text
    expect(() => job({ input, cron: '@daily', cronPayload: { folder: 1 } })).toThrow()
  })
})
