import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ADMIN_TOKEN, startServer, TestServer } from '@oncue/api/testing'
import { createClient } from '@oncue/sdk'
import { Program, until } from '@oncue/testing'
import { replay, withEnds } from 'oncue'
import { createTestWorker } from 'oncue/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DATABASES, pathOf, run } from '../programs.ts'
import { jobs } from './jobs.ts'
import { model } from './model.ts'
import { Shop } from './shop.ts'
import { createWorkers } from './workers.ts'

const question = 'Where is order a7?'

describe.each(DATABASES)('an agent, on $dialect', ({ create }) => {
  let folder: string
  let shop: Shop
  let server: TestServer
  const programs: Program[] = []
  const client = () => createClient({ url: server.url, token: ADMIN_TOKEN, jobs })

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oncue-agent-'))
    shop = new Shop(join(folder, 'calls'))
    server = new TestServer(await startServer({ database: await create() }))
  })
  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.stop('SIGKILL')))
    await server.close()
    await rm(folder, { recursive: true })
  })

  const startWorker = (...slowTurn: string[]) => {
    const args = [server.databaseUrl, join(folder, 'calls'), ...slowTurn]
    const program = new Program(pathOf('agent/worker.ts'), args, { env: {} })
    programs.push(program)
    return program
  }
  test('the program asks a person, and then refunds', async () => {
    expect(await run('agent/main.ts', server.databaseUrl)).toEqual([
      'asked: Refund 500 cents for order a7?',
      'answered: {"answer":"We have refunded 500 cents."}',
      'find_order 1, called 1 time(s): {"cents":500,"delivered":false}',
      'refund 2, called 1 time(s): We have refunded 500 cents.',
    ])
  })

  test('survives two kills: while it waits for a person, and while its model thinks', {
    timeout: 120_000,
  }, async () => {
    const { jobs: calls } = client()
    const id = await calls.enqueue('support_agent', { question })

    const first = startWorker()
    await until(async () => (await calls.get(id)).waits?.for[0]?.name === 'approve 2')
    expect(await first.stop('SIGKILL')).toBe('SIGKILL')
    // Answered on the phone, while no worker runs.
    await calls.answer(id, 'approve 2', { ok: true })

    const second = startWorker('3')
    await second.said('thinks about turn 3')
    expect(await shop.calls()).toEqual(['find_order a7', `refund a7 500 ${id} refund 2`])
    expect(await second.stop('SIGKILL')).toBe('SIGKILL')

    const third = startWorker()
    expect(await calls.wait(id)).toEqual({ answer: 'We have refunded 500 cents.' })
    expect(third.lines.filter(({ msg }) => msg.startsWith('thinks'))).toMatchObject([{ turn: 3 }])

    // Every tool was called once, whatever was killed.
    expect(await shop.calls()).toEqual(['find_order a7', `refund a7 500 ${id} refund 2`])
    const job = await server.store.get(id)
    if (!job) throw new Error('the job is gone')
    const { status, plans, tools, error } = replay(withEnds(job, await server.store.events.list(id)))
    expect(status).toBe('completed')
    expect([...plans.keys()]).toEqual(['plan 1', 'plan 2', 'plan 3'])
    expect([...tools].map(([name, tool]) => [name, tool.status, tool.calls])).toEqual([
      ['find_order 1', 'finished', 1],
      ['refund 2', 'finished', 1],
    ])
    expect(error).toMatchObject({ code: 'WORKER_CRASHED' })
  })
})

test('nothing is refunded that a person does not approve', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oncue-agent-'))
  const shop = new Shop(join(folder, 'calls'))
  const worker = await createTestWorker({ jobs, workers: createWorkers(shop, model) })
  try {
    for (const value of ['{"ok":false}', null]) {
      const id = await worker.enqueue('support_agent', { question })
      await worker.drain()
      if (value) await worker.store.durable.answer({ id, name: 'approve 2', value, by: 'ada' })
      const [done] = value ? await worker.drain() : await worker.advance(2 * 86_400_000)
      expect(done?.result).toEqual({ answer: 'A colleague will write to you.' })
    }
    expect(await shop.calls()).toEqual(['find_order a7', 'find_order a7'])
  } finally {
    await worker.close()
    await rm(folder, { recursive: true })
  }
})
