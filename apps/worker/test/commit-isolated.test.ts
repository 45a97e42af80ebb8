import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase } from '@oncue/db/testing'
import { idsIn, transactionHosts } from '@oncue/db/testing/transactions'
import { describe, expect, it, vi } from 'vitest'
import { Execution, START } from './execution.ts'
import { Bench, until } from './harness.ts'
import { openService, VARIABLES } from './isolated-commits.ts'

const modules = [new URL('./isolated-commits-module.ts', import.meta.url).href]
const retry = { strategy: 'fixed', baseDelay: 0 } as const
const HOUR = 3_600_000

type Host = (typeof transactionHosts)[number]

/** A service whose handlers run in child processes, and the table that they write. `elsewhere`: their database. */
async function isolated(
  bench: Bench,
  { name, dialect, elsewhere = bench.url }: Host & { elsewhere?: string },
) {
  const values = [elsewhere, name, dialect]
  for (const [n, variable] of VARIABLES.entries()) vi.stubEnv(variable, values[n])
  bench.defer(async () => vi.unstubAllEnvs())
  const { workers, transactions, run, close } = await openService(bench.url, name, dialect)
  bench.defer(() => close())
  await transactions.open((tx) => run(tx, 'create table taken (id text)'))
  const clock = { ms: START }
  const store = await bench.open({ clock: () => new Date(clock.ms) })
  const execution = Execution.with(store, workers, { modules, retry })
  // Before databases are dropped.
  bench.defer(() => execution.executor.close())
  return { execution, store, clock, booked: () => idsIn(bench.url, 'taken') }
}

describe.each(transactionHosts)('isolated commit and complete with $name, on $dialect', (host) => {
  const bench = new Bench(host.dialect)

  it('store rows and result together, or neither if the transaction is rolled back', async () => {
    const { execution, store, booked } = await isolated(bench, host)
    const failed = await execution.run('throws', { id: 'a' })
    expect(failed).toMatchObject({ status: 'pending', lastError: { class: 'TypeError', message: 'no' } })
    expect([await booked(), await store.durable.outcomes(failed.id)]).toEqual([[], []])
    const done = await execution.settled(await execution.startNext('throws'))
    expect([done.status, done.result, await booked()]).toEqual(['completed', 'yes', ['a']])
    const outcomes = await store.durable.outcomes(failed.id)
    expect(outcomes).toMatchObject([{ key: 'step:row', kind: 'step', data: { result: 'yes' } }])

    const rolledBack = await execution.run('ends_badly', { id: 'b' })
    expect(rolledBack).toMatchObject({ status: 'pending', lastError: { code: 'COMPLETE_ROLLED_BACK' } })
    expect(await booked()).toEqual(['a'])
    const ended = await execution.settled(await execution.startNext('ends_badly'))
    expect([ended.status, ended.result, await booked()]).toEqual(['completed', { booked: 'b' }, ['a', 'b']])
  })
})

/** The synchronous one, and an asynchronous one on each database. */
const LIBRARIES = transactionHosts.filter(
  ({ name, dialect }) => name === 'better-sqlite3' || name === (dialect === 'postgres' ? 'pg' : 'Kysely'),
)

describe.each(LIBRARIES)('isolated commit and complete with $name, on $dialect', (host) => {
  const bench = new Bench(host.dialect)

  it('are remembered by another process', async () => {
    const { execution, store, booked } = await isolated(bench, host)
    const { id, waits } = await execution.run('remembers', { id: 'a' })
    expect(waits?.for).toMatchObject([{ kind: 'signal', name: 'go' }])
    expect(await booked()).toEqual(['a', 'second'])
    await store.durable.signal({ id, name: 'go', data: 'null' })
    const done = await execution.settled(await execution.startNext('remembers'))
    expect([done.status, done.result]).toEqual(['completed', { isOther: true, nothing: true }])
    expect(await booked()).toEqual(['a', 'second'])
    const outcomes = await store.durable.outcomes(id)
    expect(outcomes.map(({ key }) => key).slice(0, 2)).toEqual(['step:row', 'step:nothing'])
    const finished = done.events.filter(({ type }) => type === 'step_finished')
    expect(finished).toMatchObject([{ data: { name: 'row' } }, { data: { name: 'nothing' } }])
  })

  it('keep what is told before and after the end of the job', async () => {
    const { execution, booked } = await isolated(bench, host)
    const ended = await execution.run('ends', { id: 'b' })
    expect([ended.status, ended.result, await booked()]).toEqual(['completed', { booked: 'b' }, ['b']])
    const logs = ended.events.filter(({ type }) => type === 'log')
    expect(logs).toMatchObject([{ data: { message: 'booking' } }, { data: { message: 'booked' } }])
  })

  it('do not complete a job after the rollback of a transaction that did not wait for it', async () => {
    const { execution, booked } = await isolated(bench, host)
    const failed = await execution.run('ends_unawaited', { id: 'a' })
    expect(failed).toMatchObject({ status: 'pending', lastError: { code: 'COMPLETE_ROLLED_BACK' } })
    expect(await booked()).toEqual([])
  })

  it('store neither if the process is killed before the end of the transaction', async () => {
    const { execution, booked } = await isolated(bench, host)
    const crashed = await execution.run('dies', { id: 'a' })
    expect(crashed).toMatchObject({ status: 'pending', lastError: { code: 'WORKER_CRASHED' } })
    expect(await booked()).toEqual([])
    const done = await execution.settled(await execution.startNext('dies'))
    expect([done.status, done.result, await booked()]).toEqual(['completed', 2, ['a']])
  })

  it('have completed the job even if the process is killed at once', async () => {
    const { execution, booked } = await isolated(bench, host)
    const run = await execution.start('ends_and_dies', { id: 'a' })
    expect(await run.ended).toMatchObject({ settlement: { kind: 'complete' }, isWritten: true })
    const done = await execution.store.get(run.job.id)
    expect([done?.status, done?.result, await booked()]).toEqual(['completed', 1, ['a']])
  })

  it('roll back the rows of a run that has lost its job', async () => {
    const { execution, store, booked } = await isolated(bench, host)
    const folder = await mkdtemp(join(tmpdir(), 'oncue-loses-'))
    bench.defer(() => rm(folder, { recursive: true }))
    const file = join(folder, 'go')
    const run = await execution.start('loses', { id: 'a', file })
    const { id, run: n } = run.job
    await until(() => store.get(id).then((job) => job?.progress))
    await store.settle([{ id, run: n, kind: 'release' }])
    await writeFile(file, '')
    expect((await run.ended).settlement).toBeNull()
    expect([(await store.get(id))?.status, await booked()]).toEqual(['pending', []])
    expect(await store.durable.outcomes(id)).toEqual([])
  })

  it('refuse what they refuse outside of isolation', async () => {
    const { execution, booked } = await isolated(bench, host)
    const wrong = await execution.run('ends_wrong', { id: 'a' })
    expect(wrong).toMatchObject({ status: 'failed', lastError: { code: 'INVALID_RESULT' } })
    const big = await execution.run('returns_much', { id: 'a' })
    expect(big).toMatchObject({ status: 'failed', lastError: { code: 'INVALID_RESULT' } })
    expect(big.lastError?.message).toContain('was rolled back')
    expect(await booked()).toEqual([])

    const early = await execution.run('ends_early', { id: 'b' })
    expect(early.result).toMatch(/^NOT_AWAITED: .*: step "slow"$/)
    expect(await booked()).toEqual(['b'])

    const [nested, twice] = ['NESTED_CALL', 'DUPLICATE_STEP']
    expect((await execution.run('nests', { id: 'c' })).result).toEqual({
      ...{ step: nested, commit: nested, sleep: nested, spawn: nested, undo: nested, emit: nested },
      ...{
        checkpoint: nested,
        complete: nested,
        again: twice,
        used: twice,
        name: 'INVALID_INPUT',
        inStep: nested,
      },
    })
  })

  it('do not complete a job that is being undone', async () => {
    const { execution, booked } = await isolated(bench, host)
    const undoing = await execution.run('is_undone', { id: 'a' })
    expect(undoing).toMatchObject({ status: 'pending', ending: { status: 'failed' } })
    const done = await execution.settled(await execution.startNext('is_undone'))
    expect(done).toMatchObject({ status: 'failed', run: 2, lastError: { message: 'sold out' } })
    expect(done.events.map(({ type }) => type)).toContain('undone')
    expect(await booked()).toEqual([])
  })

  it('replay a failure that the handler survived', async () => {
    const { execution, clock } = await isolated(bench, host)
    await execution.run('survives', { id: 'a' })
    clock.ms += HOUR
    const done = await execution.settled(await execution.startNext('survives'))
    expect(done.result).toBe('StepError: no, false')
  })

  it.each(['throws', 'ends'])('are refused if the process is on another database: %s', async (topic) => {
    const other = await createDatabase(host.dialect)
    const { close, ...there } = await openService(other.url, host.name, host.dialect)
    await there.transactions.open((tx) => there.run(tx, 'create table taken (id text)'))
    await close()
    const { execution, store, booked } = await isolated(bench, { ...host, elsewhere: other.url })
    bench.defer(() => other.drop())
    const failed = await execution.run(topic, { id: 'a' })
    expect(failed).toMatchObject({ status: 'pending', lastError: { code: 'OTHER_DATABASE' } })
    expect(failed.lastError?.message).toContain('isolate: { env:')
    expect([await booked(), await idsIn(other.url, 'taken')]).toEqual([[], []])
    const outcomes = await store.durable.outcomes(failed.id)
    expect(outcomes.map(({ key }) => key)).not.toContain('step:row')
  })
})
