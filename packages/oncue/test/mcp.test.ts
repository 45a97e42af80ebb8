import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ADMIN_TOKEN, startServer, TestServer } from '@oncue/api/testing'
import { prepareJob } from '@oncue/core'
import type { Role } from '@oncue/core/wire'
import { createClient } from '@oncue/sdk'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ERROR, PROGRAM, run, WORKER } from './harness.ts'

/** `oncue mcp` as an editor starts it, with the client of the protocol's SDK, against the API on a database. */

let server: TestServer
let viewer: Assistant
let operator: Assistant
beforeAll(async () => {
  server = new TestServer(await startServer({ database: 'postgres' }))
  ;[viewer, operator] = await Promise.all([Assistant.of('viewer'), Assistant.of('operator')])
})
afterAll(async () => {
  await Promise.all([viewer.close(), operator.close()])
  await server.close()
})

const admin = () => createClient({ url: server.url, token: ADMIN_TOKEN })

/** What a tool said: JSON, or an error in words. */
type Said = { error?: string; [key: string]: unknown }

class Assistant {
  readonly #client = new Client({ name: 'editor', version: '1' })

  static async of(role: Role, ...options: string[]): Promise<Assistant> {
    const { secret } = await admin().tokens.create({ name: `${role} of mcp`, role })
    const assistant = new Assistant()
    await assistant.#client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [PROGRAM, 'mcp', ...options],
        env: { ONCUE_URL: server.url, ONCUE_TOKEN: secret },
      }),
    )
    return assistant
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  async tools() {
    return (await this.#client.listTools()).tools
  }

  async names(): Promise<string[]> {
    return (await this.tools()).map(({ name }) => name)
  }

  async call(name: string, input: object = {}): Promise<Said> {
    const { content, isError } = await this.#client.callTool({ name, arguments: { ...input } })
    const [{ text }] = content as [{ text: string }]
    return isError ? { error: text } : JSON.parse(text)
  }
}

async function addTo(topic: string, count = 1, payload: unknown = { user: 7 }): Promise<string[]> {
  return server.store.enqueue(
    Array.from({ length: count }, () => prepareJob(topic, payload, { queue: topic, maxRetries: 0 })),
  )
}

async function failTo(topic: string, count = 1): Promise<string[]> {
  const ids = await addTo(topic, count)
  const { jobs } = await server.store.claim({
    queues: [topic],
    limit: count,
    worker: WORKER,
    leaseMs: 30_000,
  })
  await server.store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'fail', error: ERROR })))
  return ids
}

const statusOf = async (id: string | undefined) => (await admin().jobs.get(id as never)).status

const ACTIONS = [
  'requeue_jobs',
  'run_jobs_now',
  'cancel_jobs',
  'pause_queue',
  'resume_queue',
  'stop_bulk_operation',
]

describe('the tools that are listed', () => {
  test('a viewer reads and previews; it is not even shown what it may not do', async () => {
    const tools = await viewer.tools()
    expect(tools.map(({ name }) => name)).toEqual([
      'health',
      'job_stats',
      'list_queues',
      'explain_queue',
      'list_failures',
      'find_jobs',
      'get_job',
      'list_workers',
      'list_schedules',
      'list_bulk_operations',
      'get_bulk_operation',
      'preview_jobs',
      'preview_queue',
    ])
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
    const [id] = await failTo('viewed')
    const { preview } = await viewer.call('preview_jobs', { action: 'requeue', id })
    expect(await viewer.call('requeue_jobs', { preview })).toEqual({
      error: expect.stringMatching(/^FORBIDDEN: .+\nUse a token whose role may do this/),
    })
    expect(await statusOf(id)).toBe('failed')
  })

  test('an operator acts, unless told to read only; a producer has nothing to do here', async () => {
    const [reader, producer] = await Promise.all([
      Assistant.of('operator', '--read-only'),
      Assistant.of('producer'),
    ])
    onTestFinished(() => reader.close())
    onTestFinished(() => producer.close())
    expect(await operator.names()).toEqual(expect.arrayContaining(ACTIONS))
    expect((await operator.tools()).filter(({ annotations }) => annotations?.destructiveHint)).toMatchObject([
      { name: 'cancel_jobs' },
    ])
    const names = await reader.names()
    expect(names).toContain('preview_jobs')
    expect(names.filter((name) => ACTIONS.includes(name))).toEqual([])
    expect(await reader.call('pause_queue', { preview: '' })).toEqual({
      error: 'NOT_FOUND: There is no tool pause_queue\nList the tools.',
    })
    expect(await producer.names()).toEqual([])
  })
})

describe('reads', () => {
  test('tell what is wrong, and say nothing of a payload until they are asked', async () => {
    const secret = 'x'.repeat(5_000)
    const [waiting] = await addTo('reads', 1, { secret: secret, text: secret })
    const [failed] = await failTo('reads_failed')

    expect(await viewer.call('health')).toMatchObject({
      summary: expect.any(String),
      backlog: expect.any(Number),
    })
    expect(await viewer.call('job_stats', { topic: 'reads' })).toMatchObject({ pending: 1, failed: 0 })
    expect(await viewer.call('list_queues')).toMatchObject({
      queues: expect.arrayContaining([expect.objectContaining({ queue: 'reads', waiting: 1 })]),
    })
    expect(await viewer.call('explain_queue', { queue: 'reads' })).toMatchObject({
      reasons: [expect.objectContaining({ kind: 'no_worker' })],
    })
    expect(await viewer.call('list_failures', { topic: 'reads_failed', since: '1h' })).toMatchObject([
      { error: 'TypeError: no such user', failed: 1, job: failed },
    ])
    expect(await viewer.call('find_jobs', { topic: 'reads_failed', status: ['failed'] })).toMatchObject({
      total: 1,
      jobs: [{ id: failed, error: 'TypeError: no such user' }],
    })
    const story = await viewer.call('get_job', { id: failed })
    expect(story).toMatchObject({ status: 'failed', fingerprint: ERROR.fingerprint })
    expect(story.timeline).toMatchObject([
      { kind: 'created' },
      { error: 'TypeError: no such user' },
      { name: 'failed' },
    ])

    const brief = await viewer.call('get_job', { id: waiting })
    expect(brief).toMatchObject({ whyItWaits: [expect.stringMatching(/worker/)] })
    expect(brief).not.toHaveProperty('payload')
    const whole = await viewer.call('get_job', { id: waiting, data: true })
    expect(whole).toMatchObject({ masked: ['payload.secret'] })
    expect(whole.payload).toMatch(/^\{"secret":"[^x]+".*x… \(\d[\d,]* characters left out\)$/)
    for (const tool of ['list_workers', 'list_schedules', 'list_bulk_operations'])
      expect(await viewer.call(tool)).not.toHaveProperty('error')
  })

  test('errors have our code, and say what to do', async () => {
    const refused = await Promise.all([
      viewer.call('get_job', { id: '01900000-0000-7000-8000-000000000000' }),
      viewer.call('find_jobs', { since: 'soon' }),
      viewer.call('find_jobs', { topik: 'mail' }),
      viewer.call('preview_jobs', { action: 'requeue' }),
    ])
    expect(refused.map(({ error }) => error)).toEqual([
      expect.stringMatching(/^JOB_NOT_FOUND: .+\nCheck the id; /),
      expect.stringMatching(
        /^INVALID_INPUT: input\.since: must be a time\. Use how long ago.+, got "soon"\n/,
      ),
      expect.stringMatching(/^INVALID_INPUT: .*topik.*\nCorrect the field named in the message\.$/),
      expect.stringMatching(/^INVALID_INPUT: .*an empty filter would match every job/),
    ])
  })
})

describe('actions', () => {
  test('do exactly the jobs that were previewed, once, as the token', async () => {
    const previewed = await failTo('acted', 3)
    const shown = await operator.call('preview_jobs', {
      action: 'requeue',
      topic: 'acted',
      status: ['failed'],
    })
    expect(shown).toMatchObject({
      count: 3,
      byError: [{ count: 3, error: 'TypeError: no such user' }],
      actWith: 'requeue_jobs',
    })
    const [later] = await failTo('acted')

    const done = await operator.call('requeue_jobs', { preview: shown.preview })
    expect(done).toMatchObject({ status: 'completed', done: 3, by: 'operator of mcp' })
    expect(await Promise.all(previewed.map(statusOf))).toEqual(['pending', 'pending', 'pending'])
    expect(await statusOf(later)).toBe('failed')
    expect(await operator.call('requeue_jobs', { preview: shown.preview })).toEqual(done)
    expect(await operator.call('get_bulk_operation', { id: done.id })).toMatchObject({ done: 3 })

    const { items } = await admin().audit.list({ action: 'bulkOperations.run' })
    expect(items.filter(({ userAgent }) => userAgent?.startsWith('oncue-mcp/'))).toMatchObject([
      { actor: { name: 'operator of mcp' }, count: 3 },
    ])
  })

  test('need the preview of the same action, made in this session', async () => {
    const [id] = await addTo('guarded')
    const { preview } = await operator.call('preview_jobs', { action: 'cancel', id })
    const refusal = {
      error:
        'INVALID_INPUT: This is the preview of cancel\nCall cancel_jobs with it, or preview this action.',
    }
    expect(await operator.call('requeue_jobs', { preview })).toEqual(refusal)
    expect(await operator.call('cancel_jobs', { preview: 'all of them' })).toEqual({
      error: expect.stringMatching(/^INVALID_INPUT: There is no preview all of them/),
    })
    expect(await statusOf(id)).toBe('pending')
    expect(await operator.call('cancel_jobs', { preview })).toMatchObject({ done: 1 })
    // Not what the other action has done, as if it were the outcome of this one.
    expect(await operator.call('requeue_jobs', { preview })).toEqual(refusal)
    expect(await statusOf(id)).toBe('cancelled')
  })

  test('run scheduled jobs now', async () => {
    await server.store.enqueue([prepareJob('later', {}, { delay: 3_600 })])
    const { preview } = await operator.call('preview_jobs', { action: 'run_now', topic: 'later' })
    expect(await operator.call('run_jobs_now', { preview })).toMatchObject({ done: 1 })
    expect(await operator.call('job_stats', { topic: 'later' })).toMatchObject({ waiting: 1, scheduled: 0 })
  })

  test('pause and resume the queue as it was previewed', async () => {
    await addTo('held')
    const pause = await operator.call('preview_queue', { action: 'pause', queue: 'held', for_seconds: 600 })
    expect(pause).toMatchObject({ queue: { queue: 'held', waiting: 1 }, actWith: 'pause_queue' })
    const paused = await operator.call('pause_queue', { preview: pause.preview })
    expect(paused).toMatchObject({
      queue: 'held',
      paused: { by: 'operator of mcp', until: expect.any(String) },
    })

    const { preview } = await operator.call('preview_queue', { action: 'resume', queue: 'held' })
    await admin().queues.pause({ queue: 'held' })
    expect(await operator.call('resume_queue', { preview })).toEqual({
      error:
        'COUNT_MISMATCH: The queue held was paused or resumed since the preview\nPreview the action again.',
    })
    const again = await operator.call('preview_queue', { action: 'resume', queue: 'held' })
    expect(await operator.call('resume_queue', { preview: again.preview })).not.toHaveProperty('paused')
  })
})

describe('the command', () => {
  test('says what is missing, before it speaks the protocol', async () => {
    expect(await run(['mcp'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/--server/),
    })
    expect(await run(['mcp', '--server', server.url, '--json'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"code":"UNAUTHORIZED"'),
    })
  })
})
