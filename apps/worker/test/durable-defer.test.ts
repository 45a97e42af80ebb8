import {
  Cancel,
  defineJobs,
  defineWorkers,
  type Handlers,
  isOncueError,
  job,
  PermanentError,
} from '@oncue/core'
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { ExecutorOptions } from '../src/run/executor.ts'
import { Execution } from './execution.ts'
import { type Bench, describeBoth, Gate, until } from './harness.ts'

const jobs = defineJobs({ holds: job({ input: z.unknown(), timeoutMs: 60_000 }) })
type Handle = NonNullable<Handlers<typeof jobs>['holds']>

const on = (bench: Bench, holds: Handle, options?: Partial<ExecutorOptions>) =>
  Execution.on(bench, defineWorkers(jobs, { holds }), options)

describeBoth('ctx.defer', (bench) => {
  it('runs at the suspension, the last first, before the job is settled', async () => {
    const calls: unknown[] = []
    const execution = await on(bench, async (_job, { defer, sleep, signal }) => {
      defer(() => calls.push('first'))
      defer(async () => {
        await Promise.resolve()
        calls.push(isOncueError(signal.reason) && signal.reason.code)
      })
      await sleep('settle', '1h')
    })
    const run = await execution.start('holds')
    const { settlement } = await run.ended
    expect(settlement?.kind).toBe('suspend')
    expect(calls).toEqual(['JOB_SUSPENDED', 'first'])
  })

  it('runs however the handler ends, and changes nothing by failing', async () => {
    const ends: Record<string, () => unknown> = {
      completed: () => 'done',
      failed: () => {
        throw new PermanentError('gone')
      },
      cancelled: () => {
        throw new Cancel('not needed')
      },
    }
    const calls: string[] = []
    const execution = await on(bench, async ({ payload }, { defer }) => {
      defer(() => calls.push(String(payload)))
      defer(() => {
        throw new Error('no matter')
      })
      return ends[String(payload)]?.()
    })
    for (const status of Object.keys(ends)) {
      expect((await execution.run('holds', status)).status).toBe(status)
    }
    expect(calls).toEqual(Object.keys(ends))
    expect(execution.log.of('error')).toEqual(new Array(3).fill('a function given to ctx.defer failed'))
  })

  it('runs when the job is cancelled, and when its handler ignores that', async () => {
    const began = new Gate()
    const calls: string[] = []
    const execution = await on(bench, async (_job, { defer }) => {
      defer(() => calls.push('released'))
      began.open()
      await new Promise(() => {})
    })
    const run = await execution.start('holds')
    await began.opened
    run.abort('cancelled')
    expect(await run.ended).toMatchObject({ settlement: { kind: 'cancel' }, abandoned: true })
    expect(calls).toEqual(['released'])
  })

  it('is waited for no longer than a handler that ignores its signal', async () => {
    const execution = await on(bench, async (_job, { defer }) => {
      defer(() => new Promise(() => {}))
      return 'done'
    })
    expect(await execution.run('holds')).toMatchObject({ status: 'completed', result: 'done' })
    await until(() => execution.log.of('warn').length > 0)
    expect(execution.log.of('warn')).toEqual(['functions given to ctx.defer took too long'])
  })

  it('takes a function, and none after the end of the run', async () => {
    let late = () => {}
    const execution = await on(bench, async (_job, { defer }) => {
      late = () => defer(() => {})
      defer('close' as never)
    })
    expect(await execution.run('holds')).toMatchObject({ lastError: { code: 'INVALID_INPUT' } })
    expect(late).toThrow(expect.objectContaining({ code: 'STALE_RUN' }))
  })
})
