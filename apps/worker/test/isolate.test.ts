import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isOncueError, OncueError, PermanentError } from '@oncue/core'
import { describeError, signalOf } from '@oncue/core/internal'
import { describe, expect, it, vi } from 'vitest'
import type { Middleware } from '../src/index.ts'
import { inheritedFlags } from '../src/isolate/isolates.ts'
import { packError, unpackError } from '../src/isolate/packed-error.ts'
import type { ExecutorOptions } from '../src/run/executor.ts'
import { Execution, START } from './execution.ts'
import { type Bench, describeBoth, until } from './harness.ts'
import { workers } from './isolated-jobs.ts'

const modules = [new URL('./isolated-jobs.ts', import.meta.url).href]

const isolated = (bench: Bench, options: Partial<ExecutorOptions> = {}) =>
  Execution.on(bench, workers, { modules, retry: { strategy: 'fixed', baseDelay: 0 }, ...options })

const pidOf = (job: { result: unknown }) => (job.result as { pid: number }).pid

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describeBoth('an isolated job', (bench) => {
  it('runs in a child process, which is reused for the next one', async () => {
    const execution = await isolated(bench)
    const first = await execution.run('doubles', { n: '21' })
    expect(first).toMatchObject({ status: 'completed', result: { doubled: 42 } })
    expect(pidOf(first)).not.toBe(process.pid)
    expect(pidOf(await execution.run('doubles', { n: '1' }))).toBe(pidOf(first))
    expect(await execution.run('local')).toMatchObject({ result: process.pid })

    await execution.executor.close()
    await until(() => !isRunning(pidOf(first)))
  })

  it('has a process to itself while it runs', async () => {
    const execution = await isolated(bench)
    const runs = [await execution.start('doubles', { n: '1' }), await execution.start('doubles', { n: '2' })]
    const [first, second] = await Promise.all(runs.map((run) => execution.settled(run)))
    if (!first || !second) throw new Error('two were started')
    expect([first.result, second.result]).toMatchObject([{ doubled: 2 }, { doubled: 4 }])
    expect(pidOf(first)).not.toBe(pidOf(second))
  })

  it('has the same outcome as in the process of the worker', async () => {
    const execution = await isolated(bench)
    const failed = await execution.run('fails')
    // Retried, because its class is in retryOn: the worker knows it by name.
    expect(failed).toMatchObject({
      status: 'pending',
      retries: 1,
      lastError: {
        class: 'RateLimited',
        message: 'too many',
        code: 'E429',
        causes: [
          { class: 'TypeError', message: '429' },
          { class: 'string', message: 'the server' },
        ],
      },
    })
    expect(failed.lastError?.stack).toContain('isolated-jobs.ts')
    expect(await execution.run('permanent')).toMatchObject({
      status: 'failed',
      lastError: { class: 'PermanentError', message: 'gone' },
    })
    const snoozed = await execution.run('snoozes')
    expect([snoozed.status, snoozed.runAt.getTime() - START]).toEqual(['pending', 5_000])
    expect(await execution.run('map')).toMatchObject({
      status: 'failed',
      lastError: { code: 'INVALID_RESULT', message: expect.stringContaining('instance of Map') },
    })
    expect(await execution.run('charges')).toMatchObject({
      status: 'failed',
      retries: 0,
      lastError: { code: 'INVALID_RESULT', message: expect.stringContaining('the step "charge" has run') },
    })
    expect(await execution.run('doubles', { n: 5 })).toMatchObject({
      status: 'failed',
      lastError: { code: 'INVALID_PAYLOAD' },
    })
  })

  it('is refused progress that does not fit its definition', async () => {
    const execution = await isolated(bench)
    expect(await execution.run('measures')).toMatchObject({
      progress: { done: 1 },
      lastError: { code: 'INVALID_INPUT', message: expect.stringMatching(/^progress\.done: /) },
    })
  })

  it('has an error with the same fingerprint as in the process of the worker', async () => {
    const there = await isolated(bench)
    const here = await Execution.on(bench, workers, { inline: true })
    const faults = [await there.run('fails'), await here.run('fails')]
    expect(new Set(faults.map(({ lastError }) => lastError?.fingerprint)).size).toBe(1)
  })

  it('is suspended and resumed in another process, with its steps and signals', async () => {
    const clock = { ms: START }
    const store = await bench.open({ clock: () => new Date(clock.ms) })
    const execution = Execution.with(store, workers, { modules })
    const { id, waits } = await execution.run('sleeps')
    expect(waits?.for).toMatchObject([{ kind: 'timer', name: 'settle' }])
    clock.ms += 3_600_000
    const waiting = await execution.settled(await execution.startNext('sleeps'))
    expect(waiting.waits?.for).toMatchObject([{ kind: 'signal', name: 'bank' }])
    await store.durable.signal({ id, name: 'bank', data: '{"ok":true}' })
    expect(await execution.settled(await execution.startNext('sleeps'))).toMatchObject({
      status: 'completed',
      result: { isOther: true, nested: 'NESTED_CALL', said: { timedOut: false, value: { ok: true } } },
    })
  })

  it('needs transactions to commit', async () => {
    const execution = await isolated(bench)
    const refused = ['TRANSACTIONS_NEEDED', 'TRANSACTIONS_NEEDED']
    expect((await execution.run('commits')).result).toEqual(refused)
  })

  it('releases what it holds when it is suspended, and at its end', async () => {
    const clock = { ms: START }
    const store = await bench.open({ clock: () => new Date(clock.ms) })
    const execution = Execution.with(store, workers, { modules })
    const folder = await mkdtemp(join(tmpdir(), 'oncue-holds-'))
    bench.defer(() => rm(folder, { recursive: true }))
    const file = join(folder, 'released')
    expect(await execution.run('holds', { file })).toMatchObject({ status: 'pending', waits: {} })
    expect(await readFile(file, 'utf8')).toBe('1 last\n1 first\n')
    clock.ms += 3_600_000
    expect(await execution.settled(await execution.startNext('holds'))).toMatchObject({ result: [1.5] })
    expect(await readFile(file, 'utf8')).toBe('1 last\n1 first\n2 last\n2 first\n')
  })

  it('is undone in its process, and in another one if that dies', async () => {
    const execution = await isolated(bench)
    const folder = await mkdtemp(join(tmpdir(), 'oncue-undoes-'))
    bench.defer(() => rm(folder, { recursive: true }))
    const file = join(folder, 'notes')
    const { id } = await execution.run('undoes', { file })
    await execution.store.cancel([id])
    expect(await execution.settled(await execution.startNext('undoes'))).toMatchObject({
      ...{ status: 'pending', retries: 1, lastError: { code: 'WORKER_CRASHED' } },
    })
    expect(await execution.settled(await execution.startNext('undoes'))).toMatchObject({
      status: 'cancelled',
    })
    expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toEqual([
      'released',
      'slow 2, NESTED_CALL',
      'crash',
      'crash',
      'unbook a seat',
      'released',
    ])
  })

  it('asks people, and again when its own schema refuses the answer', async () => {
    const execution = await isolated(bench)
    const { store } = execution
    const { id, waits } = await execution.run('asks')
    expect(waits?.for).toMatchObject([{ kind: 'ask', name: 'approve' }])
    const answer = (value: string) => store.durable.answer({ id, name: 'approve', value, by: 'anna' })
    await answer('3')
    await execution.settled(await execution.startNext('asks'))
    expect(await store.questions()).toMatchObject([{ refused: expect.stringContaining('answer') }])
    await answer('4')
    const { result } = await execution.settled(await execution.startNext('asks'))
    expect(result).toMatchObject({ timedOut: false, value: 4, by: 'anna' })
    expect(result).not.toHaveProperty('pid', process.pid)
  })

  it('plans, runs nodes and calls tools in its process, and tells the job of them', async () => {
    const { result, events } = await (await isolated(bench)).run('agent')
    expect(result).toEqual({ hits: 1, pid: expect.any(Number) })
    expect(result).not.toHaveProperty('pid', process.pid)
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['plan_generated', { name: 'plan', plan: ['a'] }],
      ['node_started', { name: 'node' }],
      ['node_finished', { name: 'node', result: 1 }],
      ['tool_called', { name: 'search', args: { todo: ['a'] } }],
      ['tool_returned', { name: 'search', result }],
    ])
  })

  it('is not suspended before all of its waits have reached the worker', async () => {
    const execution = await isolated(bench)
    const { waits } = await execution.run('sleeps_twice')
    expect(waits?.for.map(({ name }) => name)).toEqual(['first', 'second'])
  })

  it('tells middleware that it is suspended', async () => {
    const ends: unknown[] = []
    const watch: Middleware = async (_job, _ctx, next) =>
      next().catch((error) => {
        ends.push(error)
        throw error
      })
    const execution = await isolated(bench, { middleware: [watch] })
    expect(await execution.run('sleeps_twice')).toMatchObject({ status: 'pending', waits: {} })
    await until(() => ends.length > 0)
    expect(ends).toMatchObject([{ code: 'JOB_SUSPENDED' }])
  })

  it('has a complete context', async () => {
    const execution = await isolated(bench)
    const first = await execution.run('everything')
    expect(first).toMatchObject({
      status: 'pending',
      cursor: { page: 3 },
      progress: { pid: expect.any(Number) },
    })
    const done = await execution.settled(await execution.startNext('everything'))
    expect(done.result).toMatchObject({
      made: 1,
      wrong: expect.stringContaining('payload.n'),
      cursor: { page: 3 },
      created: true,
    })
    expect(done.events.map(({ type }) => type)).toEqual([
      'log',
      'tool_called',
      'step_finished',
      'run_failed',
      'log',
      'tool_called',
    ])
    expect(done.events[0]?.data).toMatchObject({ message: 'here', fields: { error: { class: 'TypeError' } } })
    const { child } = done.result as { child: string }
    expect(await execution.store.get(child)).toMatchObject({
      topic: 'local',
      parentId: done.id,
      runAt: new Date(Date.UTC(2030, 0, 1)),
    })
  })

  it('is a failing job while a step of it waits for its next attempt, with the error that then fails its run', async () => {
    const clock = { ms: START }
    const store = await bench.open({ clock: () => new Date(clock.ms) })
    const execution = Execution.with(store, workers, { modules })
    const { retries, waits, runAt, lastError } = await execution.run('pauses_step')
    expect({ retries, waits }).toMatchObject({ retries: 0, waits: { for: [{ kind: 'retry' }] } })
    expect(lastError).toMatchObject({ class: 'RateLimited', message: 'too many', code: 'E429' })
    expect(await store.failures()).toMatchObject([{ retrying: 1, failed: 0, nextTryAt: runAt }])
    clock.ms += 3_600_000
    const failed = await execution.settled(await execution.startNext('pauses_step'))
    expect(failed).toMatchObject({
      retries: 1,
      waits: null,
      lastError: { fingerprint: lastError?.fingerprint },
    })
  })

  it('tells why an attempt of a step failed', async () => {
    const done = await (await isolated(bench)).run('retries_step')
    expect(done).toMatchObject({ status: 'completed', result: 2 })
    expect(done.events.map(({ type, data }) => [type, data])).toEqual([
      [
        'step_retried',
        { name: 'charge', attempt: 1, error: { class: 'RateLimited', message: 'too many', code: 'E429' } },
      ],
      ['step_finished', { name: 'charge', result: 2 }],
    ])
  })

  it('has its module set up once in its process, and closed at the end', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'oncue-isolate-'))
    const closed = join(folder, 'closed')
    try {
      const execution = await isolated(bench)
      expect(await execution.run('ready', { closed })).toMatchObject({ result: 1 })
      expect(await execution.run('ready', { closed })).toMatchObject({ result: 1 })
      await execution.executor.close()
      expect(await readFile(closed, 'utf8')).toBe('closed')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('gets no environment variables except those that Node needs and that its topic names', async () => {
    vi.stubEnv('ONCUE_TEST_KEY', 'sk_live_1')
    vi.stubEnv('DATABASE_URL', 'postgres://me:secret@db/app')
    try {
      const execution = await isolated(bench)
      const { result } = await execution.run('environment')
      expect(result).toHaveProperty('PATH')
      expect(JSON.stringify(result)).not.toMatch(/sk_live_1|secret/)
      const named = await execution.run('named_environment')
      expect(named.result).toEqual({ ...(result as object), ONCUE_TEST_KEY: 'sk_live_1' })
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('can write nothing after its end, also when its process runs the next job', async () => {
    const execution = await isolated(bench)
    expect(await execution.run('late')).toMatchObject({ result: 'first' })
    expect(await execution.run('late')).toMatchObject({ result: 'STALE_RUN' })
  })
})

describeBoth('the death of a child process', (bench) => {
  it.each([
    ['exits', 'the child process of this run ended with exit code 7'],
    ['throws_later', 'the child process of this run ended with exit code 1'],
    [
      'hungry',
      'the child process of this run was killed by SIGABRT, perhaps because it reached its memory limit of 32 MB',
    ],
  ])('fails the run of "%s", and no other', async (topic, message) => {
    const execution = await isolated(bench)
    const other = await execution.start('waits')
    await until(() => execution.store.get(other.job.id).then((job) => job?.progress))
    const ended = await execution.run(topic)
    expect(ended).toMatchObject({
      status: 'pending',
      retries: 1,
      lastError: { class: 'OncueError', code: 'WORKER_CRASHED', message },
    })
    if (topic === 'throws_later') {
      expect(ended.lastError?.causes).toMatchObject([{ class: 'RangeError', message: 'nobody caught me' }])
    }
    other.abort('shutdown')
    expect((await other.ended).settlement).toMatchObject({ kind: 'release' })
    expect(await execution.run('doubles', { n: '2' })).toMatchObject({ status: 'completed' })
  })
})

describeBoth('an isolated job that is asked to end', (bench) => {
  it('gets the reason', async () => {
    const execution = await isolated(bench, { abandonMs: 20_000 })
    const run = await execution.start('waits')
    await until(() => execution.store.get(run.job.id).then((job) => job?.progress))
    run.abort('cancelled')
    expect(await run.ended).toMatchObject({ settlement: { kind: 'cancel' }, abandoned: false })
  })

  it('is killed at its timeout when it ignores the signal', async () => {
    const execution = await isolated(bench)
    const before = await execution.run('doubles', { n: '1' })
    const ended = await execution.run('spins', {}, { timeoutMs: 300 })
    expect(ended).toMatchObject({ status: 'pending', retries: 1, lastError: { code: 'JOB_TIMEOUT' } })
    expect(ended.lastError?.message).toContain('ignored ctx.signal for 50 ms and was killed')
    // The loop was in the process that the first had used.
    await until(() => !isRunning(pidOf(before)))
    expect(pidOf(await execution.run('doubles', { n: '1' }))).not.toBe(pidOf(before))
  })
})

describe('an error that crosses a process', () => {
  it.each([
    ['an error with causes', new TypeError('a', { cause: new RangeError('b', { cause: 'c' }) })],
    ['an error of ours', new OncueError('JOB_TIMEOUT', 'slow', { cause: { code: 'E1', message: 'd' } })],
    ['several', new AggregateError([new Error('a'), new Error('b')], 'both')],
    ['a signal', new PermanentError('gone')],
    ['a text', 'just a text'],
    ['nothing', undefined],
  ])('is described the same: %s', (_, error) => {
    const arrived = unpackError(structuredClone(packError(error, 'mail')))
    expect(describeError(arrived, 'mail')).toEqual(describeError(error, 'mail'))
    expect(signalOf(arrived)).toEqual(signalOf(error))
    expect(isOncueError(arrived)).toBe(isOncueError(error))
  })
})

describe('a child process', () => {
  it('does not outlive its parent, even in an endless loop', async () => {
    const parent = fork(new URL('./isolate-orphan.ts', import.meta.url), { execArgv: [] })
    const [pid] = (await once(parent, 'message')) as [number]
    expect(isRunning(pid)).toBe(true)
    parent.kill('SIGKILL')
    await until(() => !isRunning(pid))
  })

  it.each([
    [
      ['--import', 'tsx', '--conditions=x'],
      ['--import', 'tsx', '--conditions=x'],
    ],
    [['--inspect=9229', '--max-old-space-size=64', '--no-warnings'], ['--no-warnings']],
    [['--no-warnings', '-e', 'work()'], ['--no-warnings']],
    [['--env-file=.env', '--env-file-if-exists=.env.local', '--no-warnings'], ['--no-warnings']],
    [['--env-file', '.env', '--env-file-if-exists', '.env.local', '--no-warnings'], ['--no-warnings']],
    [
      ['--env-file=.env', '--import', 'tsx'],
      ['--import', 'tsx'],
    ],
  ])('inherits only the flags it needs from %j', (flags, inherited) => {
    expect(inheritedFlags(flags)).toEqual(inherited)
  })
})
