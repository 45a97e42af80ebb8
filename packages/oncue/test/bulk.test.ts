import { openControl } from '@oncue/api/bulk'
import { Gate, Program, until } from '@oncue/testing'
import { expect, test } from 'vitest'
import { callAloud, describeBoth, ERROR, PROGRAM, WORKER } from './harness.ts'

describeBoth('bulk operations', (bench) => {
  const failThree = async () => [await bench.failOne(), await bench.failOne(), await bench.failOne()]

  /** Claims the jobs of a canary once they are there, and ends their runs. */
  async function runAll(kind: 'complete' | 'fail'): Promise<number> {
    const claimed: { id: string }[] = []
    await until(async () => {
      const { jobs } = await bench.store.claim({
        queues: ['default'],
        limit: 10,
        worker: WORKER,
        leaseMs: 30_000,
      })
      await bench.store.settle(
        jobs.map(({ id, run }) =>
          kind === 'complete' ? { id, run, kind, result: null } : { id, run, kind, error: ERROR },
        ),
      )
      claimed.push(...jobs)
      return claimed.length > 0
    })
    return claimed.length
  }

  /** A command that runs a bulk operation, and its id as soon as it has one. */
  function begin(...args: string[]) {
    const begun = new Gate<string>()
    const outcome = callAloud([...args, '--yes', '--url', bench.url], (text) => {
      const id = /^bulk operation (\S+) has begun/m.exec(text)?.[1]
      if (id) begun.open(id)
    })
    return { outcome, id: begun.opened }
  }

  test('requeue --spread runs to its end without an API, and is listed, shown and audited', async () => {
    await failThree()
    const { outcome, id } = begin('requeue', '--topic', 'mail', '--spread', '1s', '--by', 'ada')
    expect(await outcome).toMatchObject({ code: 0, stdout: /^3 jobs requeued\n/ })
    expect(await bench.json(['stats'])).toMatchObject({ pending: 3, failed: 0 })
    const operation = { id: await id, action: 'requeue', status: 'completed', done: 3, by: { name: 'ada' } }
    expect(await bench.json(['bulk', 'list'])).toMatchObject({ items: [operation], nextCursor: null })
    expect(await bench.json(['bulk', 'show', await id])).toMatchObject({ ...operation, spreadSeconds: 1 })
    expect(await bench.text('bulk')).toMatch(/completed +requeue +3 of 3 +0 +0 .* ada\n/)
    expect(await bench.text('bulk', 'show', await id)).toMatch(/filter +--status failed --topic mail\n/)
    const { audit } = await openControl(bench.store)
    const { items } = await audit.list({})
    expect(items).toMatchObject([
      { action: 'bulkOperations.end', actor: { name: 'ada' }, count: 3 },
      { action: 'bulkOperations.run', actor: { name: 'ada', kind: 'command' }, count: 3 },
    ])
  })

  test('of a fingerprint says which error that is, also in the audit', async () => {
    await failThree()
    const [group] = await bench.store.failures()
    const { outcome, id } = begin('requeue', '--fingerprint', group?.fingerprint ?? '', '--spread', '1s')
    expect(await outcome).toMatchObject({ code: 0 })
    const filterError = { class: ERROR.class, message: ERROR.message }
    expect(await bench.json(['bulk', 'show', await id])).toMatchObject({ filterError })
    expect(await bench.text('bulk', 'show', await id)).toMatch(
      new RegExp(`^error +${ERROR.class}: ${ERROR.message}$`, 'm'),
    )
    const { audit } = await openControl(bench.store)
    expect((await audit.list({ action: 'bulkOperations.run' })).items).toMatchObject([
      { target: { filter: { fingerprint: group?.fingerprint }, filterError } },
    ])
  })

  test('without --yes, --spread and --canary only count', async () => {
    await failThree()
    const counted = await bench.json(['requeue', '--topic', 'mail', '--canary', '1'], 2)
    expect(counted).toMatchObject({ matching: 3, done: 0 })
    expect(await bench.json(['bulk'])).toEqual({ items: [], nextCursor: null })
  })

  test('one that skips every job ends with exit code 1, as without --spread', async () => {
    await bench.add()
    const args = ['run-now', '--topic', 'mail', '--yes']
    expect(await bench.json(args, 1)).toEqual({ done: 0, skipped: { ALREADY_DUE: 1 } })
    const spread = await bench.json([...args, '--spread', '1s'], 1)
    expect(spread).toMatchObject({ status: 'completed', done: 0, skipped: { ALREADY_DUE: 1 } })
  })

  test('a canary that fails again stops the rest: exit code 1', async () => {
    await failThree()
    const { outcome, id } = begin('requeue', '--topic', 'mail', '--canary', '1')
    expect(await runAll('fail')).toBe(1)
    const { code, stdout } = await outcome
    expect(stdout).toMatch(/^1 job requeued\nso far: 1 failed again; .*\nstopped: 1 of 1 failed again\n$/)
    expect(code).toBe(1)
    expect(await bench.json(['stats'])).toMatchObject({ pending: 0, failed: 3 })
    expect(await bench.json(['bulk', '--status', 'stopped'])).toMatchObject({ items: [{ id: await id }] })
  })

  test('a canary that completes lets the rest begin', async () => {
    await failThree()
    const { outcome } = begin('requeue', '--topic', 'mail', '--canary', '1')
    expect(await runAll('complete')).toBe(1)
    expect(await outcome).toMatchObject({
      code: 0,
      stdout: /^3 jobs requeued\nso far: 1 completed, 2 waiting; /,
    })
  })

  test('run-now --canary makes one due first', async () => {
    for (let n = 0; n < 3; n++) await bench.add('mail', { delay: 3_600_000 })
    const { outcome } = begin('run-now', '--topic', 'mail', '--canary', '1')
    expect(await runAll('complete')).toBe(1)
    expect(await outcome).toMatchObject({ code: 0, stdout: /^3 jobs set to run now\n/ })
  })

  test('bulk stop ends one that waits for its canary, and says what was done', async () => {
    await failThree()
    const { outcome, id } = begin('requeue', '--topic', 'mail', '--canary', '1')
    await until(async () => (await bench.json(['bulk', 'show', await id])).done === 1)
    expect(await bench.text('bulk', 'stop', await id, '--by', 'ada')).toBe('stopped by ada; 1 of 3 done\n')
    expect(await outcome).toMatchObject({ code: 1, stdout: /^1 job requeued\n(.*\n)?stopped by ada\n$/ })
    expect(await bench.text('bulk', 'stop', await id, '--by', 'bob')).toBe('stopped by ada; 1 of 3 done\n')
  })

  test('Ctrl-C stops the operation and says so', async () => {
    await failThree()
    const args = ['requeue', '--topic', 'mail', '--canary', '1', '--by', 'ada', '--yes', '--url', bench.url]
    const program = new Program(PROGRAM, args, { env: {} })
    await until(() => program.stderr.includes('Ctrl-C stops it'))
    await until(async () => (await bench.json(['bulk'])).items[0]?.done === 1)
    expect(await program.stop('SIGINT')).toBe(1)
    expect(program.stdout).toMatch(/^1 job requeued\n(.*\n)?stopped by ada\n$/)
    const { items } = await bench.json(['bulk'])
    expect(items).toMatchObject([{ status: 'stopped', stoppedBy: 'ada', done: 1 }])
  })

  test.each([
    [['requeue', '01a2b3c4-5d6e-7f80-9a0b-1c2d3e4f5061', '--canary', '1'], 'needs a filter'],
    [['requeue', '--topic', 'mail', '--max-failed', '1'], '--max-failed needs --canary'],
    [['requeue', '--topic', 'mail', '--canary', '1', '--max-failed', '1'], 'must be less than --canary'],
    [['requeue', '--topic', 'mail', '--spread', '2d'], 'at most 1d'],
    [['requeue', '--topic', 'mail', '--spread', '300ms'], 'whole seconds'],
    [['requeue', '--topic', 'mail', '--stop-when-failing', '2'], 'such as 20%'],
  ])('%j is refused', async (args, message) => {
    const { error } = await bench.json(args, 2)
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining(message) })
  })

  test('an id that does not exist is refused', async () => {
    for (const id of ['01a2b3c4-5d6e-7f80-9a0b-1c2d3e4f5061', 'x'])
      for (const command of ['show', 'stop'])
        expect(await bench.json(['bulk', command, id], 1)).toMatchObject({
          error: { code: 'BULK_OPERATION_NOT_FOUND' },
        })
  })
})
