import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { defineJobs, job, OncueError, prepareJob } from '@oncue/core'
import { describeError } from '@oncue/core/internal'
import { createQueue } from '@oncue/db'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { ask, withProgress } from '../src/command.ts'
import { call, describeBoth, ERROR, runOnTerminal, WORKER } from './harness.ts'

describeBoth('commands on jobs', (bench) => {
  test('list filters and pages', async () => {
    const failed = await bench.failOne()
    await bench.add('other', { meta: { agent_id: 7 } })
    expect((await bench.json(['list'])).items).toHaveLength(2)
    expect(
      await bench.json(['list', '--status', 'failed', '--topic', 'mail', '--since', '1h']),
    ).toMatchObject({
      items: [{ id: failed }],
      total: 1,
    })
    expect((await bench.json(['list', '--meta', 'agent_id=7'])).items).toMatchObject([{ topic: 'other' }])
    const ids = async (...options: string[]) =>
      (await bench.json(['list', ...options])).items.map(({ id }: { id: string }) => id)
    expect(await ids('--oldest')).toEqual((await ids()).toReversed())
    expect(await ids('--status', 'failed,pending')).toHaveLength(2)
    expect(await call('list', '--status', 'failed,done', '--url', bench.url)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('or several with commas'),
    })
    const first = await bench.json(['list', '--limit', '1'])
    const second = await bench.json(['list', '--limit', '1', '--cursor', first.nextCursor])
    expect([first, second].map(({ items }) => items[0].topic)).toEqual(['other', 'mail'])
    const stdout = await bench.text('list')
    expect(stdout).toMatch(/^ID +STATUS +TOPIC +QUEUE +CREATED +RUNS +NOTE\n/)
    expect(stdout).toContain('TypeError: no such user')
  })

  test('show prints everything about a job, also by the beginning of its id', async () => {
    const id = await bench.failOne()
    expect(await bench.json(['show', id])).toMatchObject({
      id,
      status: 'failed',
      payload: { user: 7 },
      lastError: ERROR,
    })
    const stdout = await bench.text('show', id.slice(0, 13))
    for (const part of [id, 'TypeError: no such user', '"user": 7', 'fingerprint aaaaaaaaaaaaaaaa']) {
      expect(stdout).toContain(part)
    }
  })

  test('tree prints a flow from any of its jobs, with what each waits for', async () => {
    const input = z.null()
    const jobs = defineJobs({ fetch: job({ input }), scan: job({ input }), publish: job({ input }) })
    const queue = createQueue({ store: bench.store, jobs })
    const node = <Topic extends string>(topic: Topic) => ({ topic, payload: null })
    const ids = await queue.flow({
      nodes: { first: node('fetch'), left: node('scan'), right: node('scan'), last: node('publish') },
      edges: [
        ['first', 'left'],
        ['first', 'right'],
        ['left', 'last'],
        ['right', 'last'],
      ],
    })
    expect(await bench.json(['tree', ids.left])).toMatchObject({
      id: ids.left,
      counts: { pending: 1, blocked: 3 },
    })
    const lines = (await bench.text('tree', ids.last)).trimEnd().split('\n')
    expect(lines).toEqual([
      `first (fetch)  pending  ${ids.first}`,
      `├ left (scan)  blocked  ${ids.left}`,
      `└ right (scan)  blocked  ${ids.right}`,
      `  └ last (publish)  blocked  ${ids.last}  after left, right`,
      '',
      '4 jobs: 3 blocked, 1 pending',
    ])
    expect(await call('tree', WORKER, '--url', bench.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no job'),
    })
  })

  test('show names the error of a completed job as that of an earlier run', async () => {
    const id = await bench.failOne()
    await bench.store.requeue([id])
    const request = { queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 }
    const { jobs } = await bench.store.claim(request)
    await bench.store.settle(jobs.map(({ run }) => ({ id, run, kind: 'complete' })))
    expect(await bench.text('show', id)).toContain('error of an earlier run\n')
  })

  test('show says why a job waits', async () => {
    const id = await bench.add('mail')
    await bench.store.pause('default', 'ada')
    const paused = 'Queue default was paused by ada, no end set'
    expect(await bench.text('show', id)).toContain(`why it waits\n${paused}\n`)
    expect((await bench.json(['show', id])).waiting).toMatchObject([
      { kind: 'paused', text: paused },
      { kind: 'no_worker' },
    ])
  })

  test('show finds a job by the end of its id, and lists the candidates when there are several', async () => {
    const id = await bench.failOne()
    const other = await bench.add()
    for (const end of [id.slice(-8), `…${id.slice(-8)}`, id.slice(-8).toUpperCase(), id.slice(-15)])
      expect(await bench.json(['show', end])).toMatchObject({ id })
    const [job] = (await bench.store.list({ idSuffix: other.slice(-8) })).items
    expect(job).toMatchObject({ id: other })
    const twin = `${other.slice(0, 9)}0000-7000-8000-0000${other.slice(-8)}`
    await bench.store.enqueue([{ ...prepareJob('twin', {}), id: twin }])
    const { error } = await bench.json(['show', other.slice(-8)], 2)
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('twin, waiting') })
    expect(error.details.ids.toSorted()).toEqual([other, twin].toSorted())
    const none = await bench.json(['show', '0123456789abcdef'], 1)
    expect(none.error).toMatchObject({ code: 'JOB_NOT_FOUND' })
  })

  test('list --search finds a job by anything known of it, and says what was searched', async () => {
    const id = await bench.failOne()
    await bench.add('other', { meta: { agent_id: '7' } })
    const search = async (text: string, ...options: string[]) =>
      bench.json(['list', '--search', text, ...options])
    for (const text of [
      id.slice(-8),
      id.slice(0, 18),
      'mail',
      'no such user',
      'error:TYPEERROR',
      '"user":7 topic:mail',
    ])
      expect((await search(text)).items, text).toMatchObject([{ id }])
    expect((await search('status:failed topic:other')).items).toEqual([])
    expect((await search('meta.agent_id:7')).items).toMatchObject([{ topic: 'other' }])
    expect((await search('error:user', '--topic', 'other')).items).toEqual([])
    expect((await search('no such user')).search).toEqual({
      searched: ['payload contains “no such user” (last 24 hours)', 'error contains “no such user”'],
      notSearched: [],
    })
    expect(await bench.text('list', '--search', 'no such user')).toMatch(/^searched: payload contains/m)
    const refused = await bench.json(['list', '--search', 'colour:red'], 2)
    expect(refused.error).toMatchObject({ code: 'INVALID_INPUT', message: 'There is no qualifier colour:' })
  })

  test('list --search prints the options of its next page', async () => {
    await bench.add('mail', { meta: { agent: '7' } })
    await bench.add('mail', { meta: { agent: '7' } })
    const stdout = await bench.text('list', '--search', 'meta.agent:"7" after:1h', '--limit', '1')
    const next = /the next page: (--since \S+) --meta '(\S+)' --cursor (\S+)/.exec(stdout) ?? []
    const [, since = '', meta = '', cursor = ''] = next
    expect(meta).toBe('agent="7"')
    const page = await bench.json(['list', ...since.split(' '), '--meta', meta, '--cursor', cursor])
    expect(page.items).toHaveLength(1)
    expect(await bench.json(['list', '--search', 'x', '--cursor', cursor], 2)).toMatchObject({
      error: { code: 'INVALID_INPUT' },
    })
  })

  test('failures shows what retries, what gave up and when the next retry is due', async () => {
    await bench.failOne()
    const id = await bench.add('digest')
    const { jobs } = await bench.store.claim({
      ...{ queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 },
    })
    const error = { ...ERROR, class: 'SmtpTimeout', fingerprint: 'bbbbbbbbbbbbbbbb' }
    await bench.store.settle(jobs.map(({ run }) => ({ id, run, kind: 'retry', delayMs: 3_600_000, error })))
    expect(await bench.json(['failures'])).toMatchObject([
      { class: 'SmtpTimeout', retrying: 1, failed: 0, topics: ['digest'], sample: { jobId: id } },
      { class: 'TypeError', retrying: 0, failed: 1, nextTryAt: null },
    ])
    expect(await bench.json(['failures', '--topic', 'digest', '--sort', 'largest'])).toHaveLength(1)
    expect(await bench.json(['failures', '--text', 'smtp'])).toMatchObject([{ class: 'SmtpTimeout' }])
    const stdout = await bench.text('failures', '--fingerprint', 'bbbbbbbbbbbbbbbb')
    expect(stdout).toMatch(/^FINGERPRINT +RETRYING +GAVE UP +NEXT TRY +LAST +TOPIC +ERROR\n/)
    expect(stdout).toMatch(/\nbbbbbbbbbbbbbbbb +1 +0 +in 59m.* +digest +SmtpTimeout: no such user$/m)
    expect(await bench.text('failures', '--queue', 'other')).toBe('no failures\n')
    expect((await call('failures', '--sort', 'size', '--url', bench.url)).code).toBe(2)
  })

  test('show leaves out fields that an event does not have', async () => {
    const nightly = { unique: { key: 'nightly', onConflict: 'replace' } }
    const id = await bench.add('mail', nightly)
    expect(await bench.add('mail', nightly)).toBe(id)
    expect(await bench.text('show', id)).toMatch(/ replaced$/m)
  })

  test('requeue, cancel and delete act on ids, and report what they skipped', async () => {
    const [failed, waiting] = [await bench.failOne(), await bench.add()]
    expect(await bench.json(['requeue', failed])).toEqual({ done: 1, skipped: {} })
    expect(await bench.json(['cancel', waiting])).toEqual({ done: 1, skipped: {} })
    expect(await bench.json(['delete', failed])).toEqual({ done: 1, skipped: {} })
    expect(await bench.json(['delete', failed], 1)).toEqual({ done: 0, skipped: { JOB_NOT_FOUND: 1 } })
    expect(await bench.json(['cancel', waiting], 1)).toEqual({ done: 0, skipped: { INVALID_STATE: 1 } })
    const events = await bench.store.events.list(waiting)
    expect(events).toMatchObject([{ data: { by: expect.stringContaining('@') } }])
  })

  test('with a filter they only print how many match, until --yes', async () => {
    const id = await bench.failOne()
    await bench.add()
    expect(await bench.json(['requeue', '--topic', 'mail'], 2)).toMatchObject({ matching: 1, done: 0 })
    expect(await bench.store.get(id)).toMatchObject({ status: 'failed' })
    expect(await bench.json(['requeue', '--topic', 'mail', '--yes'])).toEqual({ done: 1, skipped: {} })
    expect(await bench.store.get(id)).toMatchObject({ status: 'pending' })
  })

  test('run-now makes jobs that are due later due at once, by ids or by a filter', async () => {
    const ids = [await bench.add('mail', { delay: 3_600_000 }), await bench.add('mail', { delay: 3_600_000 })]
    const [first = ''] = ids
    expect(await bench.json(['run-now', first])).toEqual({ done: 1, skipped: {} })
    expect(await bench.json(['run-now', '--topic', 'mail'], 2)).toMatchObject({ matching: 2, done: 0 })
    expect(await bench.json(['run-now', '--topic', 'mail', '--yes'])).toEqual({
      done: 1,
      skipped: { ALREADY_DUE: 1 },
    })
    expect(await bench.text('show', first)).toMatch(/ set to run now by /)
  })

  test.each([
    ['--topic', ''],
    ['--id-prefix', ''],
    ['--text', ' ', '--since', '2h'],
  ])('an unset variable matches no job: %s "%s"', async (...filter) => {
    const id = await bench.failOne()
    for (const yes of [[], ['--yes']]) {
      const { code, stderr } = await call('delete', ...filter, ...yes, '--url', bench.url)
      expect([code, stderr]).toEqual([2, expect.stringContaining('is empty, which would match every job')])
    }
    expect(await bench.store.get(id)).toMatchObject({ status: 'failed' })
  })

  test.each([
    ['requeue', 'pending', 'pending jobs cannot be requeued'],
    ['run-now', 'failed', 'failed jobs cannot be set to run now'],
    ['cancel', 'completed', 'completed jobs cannot be cancelled'],
    ['delete', 'completed', 'completed jobs cannot be deleted'],
  ])('%s --status %s is refused instead of matching no job', async (command, status, message) => {
    for (const yes of [[], ['--yes']]) {
      const { code, stderr } = await call(command, '--status', status, ...yes, '--url', bench.url)
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
    }
  })

  test('retrying, scheduled and waiting jobs are listed, counted and acted on by these words', async () => {
    const retrying = await bench.add('mail')
    const claim = { queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 }
    const { jobs } = await bench.store.claim(claim)
    const outcome = { id: retrying, kind: 'retry', delayMs: 3_600_000, error: ERROR } as const
    await bench.store.settle(jobs.map(({ run }) => ({ ...outcome, run })))
    const scheduled = await bench.add('mail', { delay: 3_600_000 })
    const waiting = await bench.add('mail')
    for (const [status, id] of Object.entries({ retrying, scheduled, waiting })) {
      expect((await bench.json(['list', '--status', status])).items).toMatchObject([{ id }])
      expect(await bench.text('list')).toMatch(new RegExp(`^${id} +${status} `, 'm'))
      expect(await bench.text('show', id)).toMatch(new RegExp(`^status +${status}$`, 'm'))
    }
    expect(await bench.json(['list', '--status', 'retrying,scheduled'])).toMatchObject({ total: 2 })
    expect(await bench.text('stats')).toMatch(
      /^pending +3\n {2}waiting +1\n {2}scheduled +1\n {2}retrying +1$/m,
    )
    const matching = await bench.json(['run-now', '--status', 'retrying'], 2)
    expect(matching).toMatchObject({ matching: 1 })
    expect(await bench.json(['run-now', '--status', 'retrying', '--yes'])).toEqual({ done: 1, skipped: {} })
    expect(await bench.json(['list', '--status', 'scheduled'])).toMatchObject({ items: [{ id: scheduled }] })
    const page = await bench.text('list', '--search', 'status:pending', '--limit', '1')
    expect(page).toContain('the next page: --status pending --cursor')
  })

  test('stats of an empty database invents no rate and no average', async () => {
    const text = await bench.text('stats')
    expect(text).toMatch(/^success +–$/m)
    expect(text).toMatch(/^average run +–$/m)
  })

  test('what was skipped is said in words', async () => {
    const [failed, waiting] = [await bench.failOne(), await bench.add('mail', { delay: 3_600_000 })]
    expect(await bench.text('requeue', waiting)).toBe(
      '0 jobs requeued\n1 skipped: already waiting or running\n',
    )
    expect(await bench.text('cancel', failed)).toBe('0 jobs cancelled\n1 skipped: already finished\n')
    expect(await bench.text('run-now', failed)).toBe('0 jobs set to run now\n1 skipped: already finished\n')
    expect(await bench.text('run-now', waiting)).toBe('1 job set to run now\n')
    expect(await bench.text('delete', prepareJob('mail', {}).id)).toMatch(/^1 skipped: no longer there$/m)
  })

  test('list, failures and show print the code of an error', async () => {
    const id = await bench.add('mail', { maxRetries: 0 })
    const claim = { queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 }
    const { jobs } = await bench.store.claim(claim)
    const error = describeError(new OncueError('INVALID_PAYLOAD', 'payload.user: is missing'), 'mail')
    await bench.store.settle(jobs.map(({ run }) => ({ id, run, kind: 'fail', error })))
    const said = 'OncueError INVALID_PAYLOAD: payload.user: is missing'
    expect(await bench.text('list')).toContain(said)
    expect(await bench.text('failures')).toContain(said)
    const shown = await bench.text('show', id)
    expect(shown).toMatch(new RegExp(`\\nerror\\n${said}\\n +at `))
    expect(shown).toMatch(new RegExp(`run 1 failed .*: ${said}`))
  })

  test('requeue of a retrying job suggests run-now', async () => {
    const [retrying, scheduled] = [await bench.add(), await bench.add('mail', { delay: 3_600_000 })]
    const claim = { queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 }
    const { jobs } = await bench.store.claim(claim)
    await bench.store.settle(
      jobs.map(({ id, run }) => ({ id, run, kind: 'retry', delayMs: 3_600_000, error: ERROR })),
    )
    const { code, stderr } = await call('requeue', retrying, scheduled, '--url', bench.url)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(`note: 1 job waits for a retry; to run now: oncue run-now ${retrying}\n$`),
    ])
    const { stderr: other } = await call('requeue', scheduled, '--url', bench.url)
    expect(other).not.toContain('run-now')
  })

  test('show tells events in words', async () => {
    const id = await bench.add('mail')
    const claim = { queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 }
    const { jobs } = await bench.store.claim(claim)
    await bench.store.settle(
      jobs.map(({ run }) => ({ id, run, kind: 'retry', delayMs: 3_600_000, error: ERROR })),
    )
    await bench.text('run-now', id, '--by', 'ada')
    await bench.store.events.append(id, null, [
      { type: 'log', data: { level: 'warn', message: 'slow reply', fields: { host: 'a' } } },
      { type: 'invoice_sent', data: { number: 7 } },
      { type: 'step_retried', data: { name: 'charge', attempt: 1, error: ERROR } },
      { type: 'undo_retried', data: { name: 'refund', attempt: 2, error: ERROR } },
    ])
    const text = await bench.text('show', id)
    expect(text).toMatch(/ run 1 failed(?: after \S+)? on …0f6f1d1f7a01: TypeError: no such user$/m)
    expect(text).toMatch(/ set to run now by ada$/m)
    expect(text).toMatch(/ warn: slow reply \{"host":"a"\}$/m)
    expect(text).toMatch(/ step charge failed, attempt 1: TypeError: no such user$/m)
    expect(text).toMatch(/ undo refund failed, attempt 2: TypeError: no such user$/m)
    expect(text).toMatch(/ invoice_sent \{"number":7\}$/m)
    const child = await bench.add('mail', { after: [id] })
    expect(await bench.text('show', child)).toMatch(/^waits for +1 other job$/m)
  })

  test('stats prints counts', async () => {
    await bench.failOne()
    await bench.add('other')
    expect(await bench.json(['stats'])).toMatchObject({ failed: 1, pending: 1, completed: 0, successRate: 0 })
    expect(await bench.json(['stats', '--topic', 'other'])).toMatchObject({ failed: 0, pending: 1 })
    expect(await bench.text('stats')).toMatch(/^failed +1$/m)
  })
})

describeBoth('requeue from a step', (bench) => {
  test('repeats the step and all after it, or everything, and says so in the events', async () => {
    const id = await bench.failOne()
    expect(await bench.json(['requeue', id, '--from-start', '--by', 'ada'])).toEqual({
      ...{ id, step: null, done: 1 },
    })
    const { events } = await bench.json(['show', id])
    expect(events.at(-1)).toMatchObject({ type: 'steps_forgotten', data: { by: 'ada', from: null } })
    expect(await bench.text('show', id)).toContain('set to run again from the start by ada')
  })

  test('is refused for unknown steps, unfinished jobs, several jobs, and other changes', async () => {
    const id = await bench.failOne()
    const refused = async (...args: string[]) => (await bench.json(['requeue', ...args], 1)).error.code
    expect(await refused(id, '--from-step', 'charge')).toBe('STEP_NOT_FOUND')
    expect(await refused(await bench.add(), '--from-start')).toBe('INVALID_STATE')
    const wrong = async (...args: string[]) => (await call('requeue', ...args, '--url', bench.url)).stderr
    for (const args of [
      [id, id, '--from-start'],
      ['--topic', 'mail', '--from-start'],
      [id, '--from-start', '--from-step', 'charge'],
      [id, '--from-step', 'charge', '--payload', '1'],
    ])
      expect(await wrong(...args)).toContain('exactly one job id')
  })
})

describeBoth('requeue with another payload', (bench) => {
  test('shows what would change, and does it with --yes', async () => {
    const id = await bench.failOne()
    const args = ['requeue', id, '--payload', '{"user":8,"retry":true}', '--by', 'ada']
    const asked = await call(...args, '--url', bench.url)
    expect(asked.code).toBe(2)
    expect(asked.stdout).toBe(
      '- payload.user: 7\n+ payload.user: 8\n+ payload.retry: true\nadd --yes to requeue the job with this payload\n',
    )
    expect(await bench.json(['show', id])).toMatchObject({ status: 'failed', payload: { user: 7 } })
    expect(await bench.json([...args, '--yes'])).toEqual({
      id,
      changes: [
        { path: 'payload.user', before: 7, after: 8 },
        { path: 'payload.retry', after: true },
      ],
      more: 0,
      done: 1,
    })
    const job = await bench.json(['show', id])
    expect(job).toMatchObject({ status: 'pending', payload: { user: 8, retry: true } })
    expect(job.events.at(-1)).toMatchObject({
      type: 'payload_changed',
      data: { by: 'ada', paths: ['payload.user', 'payload.retry'] },
    })
  })

  test('names no inner keys in the event: the command does not know which are masked', async () => {
    const id = await bench.failOne()
    const edit = (payload: unknown) =>
      bench.json(['requeue', id, '--payload', JSON.stringify(payload), '--yes'])
    await edit({ user: 7, credentials: { sk_live_1: 'a', sk_live_2: 'b' } })
    await bench.text('cancel', id)
    const { changes } = await edit({ user: 7, credentials: { sk_live_1: 'c', sk_live_2: 'd' } })
    expect(changes).toHaveLength(2)
    const { events } = await bench.json(['show', id])
    expect(events.at(-1).data).toMatchObject({ paths: ['payload.credentials'] })
    expect(JSON.stringify(events)).not.toContain('sk_live')
  })

  test('reads the payload from a file', async () => {
    const id = await bench.failOne()
    const folder = await mkdtemp(join(tmpdir(), 'oncue-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'payload.json')
    await writeFile(file, '{"user": 9}')
    await bench.json(['requeue', id, '--payload', `@${file}`, '--yes'])
    expect(await bench.json(['show', id])).toMatchObject({ payload: { user: 9 } })
    const { error } = await bench.json(['requeue', id, '--payload', `@${file}.none`, '--yes'], 2)
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('cannot be read') })
  })

  test('refuses what is no JSON, several jobs, a job that runs, and one that is not there', async () => {
    const id = await bench.failOne()
    const edit = async (payload: string, ...ids: string[]) => {
      const { stdout } = await call(
        'requeue',
        ...ids,
        '--payload',
        payload,
        '--yes',
        '--json',
        '--url',
        bench.url,
      )
      return JSON.parse(stdout).error
    }
    expect(await edit('{"user":', id)).toMatchObject({ code: 'INVALID_PAYLOAD' })
    expect(await edit('{}', id, await bench.add())).toMatchObject({
      code: 'INVALID_INPUT',
      message: '--payload needs exactly one job id',
    })
    expect(await edit('{}', await bench.add())).toMatchObject({ code: 'INVALID_STATE' })
    expect(await edit('{}', prepareJob('mail', {}).id)).toMatchObject({ code: 'JOB_NOT_FOUND' })
    const filtered = await call('requeue', '--topic', 'mail', '--payload', '{}', '--json', '--url', bench.url)
    expect(JSON.parse(filtered.stdout).error).toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('refuses a payload that does not fit the schema of the topic, and changes nothing', async () => {
    const input = { type: 'object', properties: { user: { type: 'number' } }, required: ['user'] }
    await bench.store.announce([{ topic: 'mail', input, output: {}, policy: {} }])
    const id = await bench.failOne()
    const edit = (payload: string, ...more: string[]) =>
      call('requeue', id, '--payload', payload, '--url', bench.url, ...more)
    const wrong = await edit('{"user":"seven"}', '--yes')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('payload.user: must be number (schema of mail)')
    expect((await edit('{}')).stderr).toContain('payload.user: is missing (schema of mail)')
    const job = await bench.json(['show', id])
    expect(job).toMatchObject({ status: 'failed', payload: { user: 7 } })
    expect(job.events).not.toContainEqual(expect.objectContaining({ type: 'payload_changed' }))
    expect((await edit('{"user":8}', '--yes')).code).toBe(0)
  })

  test('checks nothing against a schema that cannot be used, and says so', async () => {
    await bench.store.announce([{ topic: 'mail', input: { type: 'nothing' }, output: {}, policy: {} }])
    const id = await bench.failOne()
    const { code, stderr } = await call('requeue', id, '--payload', '{}', '--yes', '--url', bench.url)
    expect([code, stderr]).toEqual([0, expect.stringContaining('note: announced schema does not compile')])
  })

  test('asks on a terminal: only y or yes requeues', async () => {
    const id = await bench.failOne()
    const args = ['requeue', id, '--payload', '{"user":8}', '--url', bench.url]
    const question = `Requeue mail ${id} with this payload? [y/N] `
    for (const answer of ['', 'yesterday']) {
      const { code, output } = await runOnTerminal(args, question, answer)
      expect([code, output]).toEqual([2, expect.stringContaining('- payload.user: 7\n+ payload.user: 8\n')])
      expect(output).toContain('nothing was changed')
      expect(await bench.json(['show', id])).toMatchObject({ status: 'failed', payload: { user: 7 } })
    }
    const { code, output } = await runOnTerminal(args, question, 'Y')
    expect([code, output]).toEqual([0, expect.stringContaining('1 job requeued')])
    expect(await bench.json(['show', id])).toMatchObject({ status: 'pending', payload: { user: 8 } })
  })
})

test('a question stays on the terminal while it waits for its answer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    process.stderr.isTTY = isTTY
  })
  const { isTTY } = process.stderr
  process.stderr.isTTY = true
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const [input, output] = [new PassThrough(), new PassThrough()]
  const answered = withProgress('requeue', () => ask('Sure?', input, output))
  vi.advanceTimersByTime(5_000)
  expect(write).not.toHaveBeenCalled()
  input.write('yes\n')
  expect(await answered).toBe(true)
})
