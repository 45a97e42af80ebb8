import { Cancel, defineJobs, defineWorkers, job, replay, Snooze, withEnds } from '@oncue/core'
import type { JobDetails, Store } from '@oncue/db'
import { createDatabase, DIALECTS } from '@oncue/db/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createTestWorker, type TestWorker } from '../src/testing.ts'

const START = new Date('2026-01-01T00:00:00Z')
const HOUR = 3_600_000
const ROUNDS = 25
const LINES = 12

const jobs = defineJobs({
  agent: job({
    input: z.unknown(),
    signals: { go: z.unknown() },
    events: 'all',
    retry: { max: 1, strategy: 'fixed', baseDelay: 60_000 },
  }),
})

/** Repeatable (mulberry32). */
function randomNumbers(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

async function allEvents(store: Store, id: string) {
  const events = []
  for (;;) {
    const page = await store.events.list(id, { afterVersion: events.length })
    if (page.length === 0) return events
    events.push(...page)
  }
}

/** What the row says, in the words of a replay. */
function stateOf({ status, run, progress, result, lastError }: JobDetails) {
  const isLive = status === 'pending' || status === 'blocked'
  return { status: isLive ? 'pending' : status, run, progress, result, error: lastError }
}

/** A handler of twelve lines, each of which does what chance says, the same in all runs; how it ends differs. */
function makeLife(random: (below: number) => number, failures: number) {
  const script = Array.from({ length: LINES }, () => random(10))
  const life: { test?: TestWorker<typeof jobs> } = {}
  const maybe = async (percent: number) => {
    if (random(100) >= percent) return
    const way = random(4)
    if (way === 2) await life.test?.kill()
    if (way === 1) throw new Snooze(60_000)
    throw new Error(`failed ${random(100)}`)
  }
  const workers = defineWorkers(jobs, {
    async agent(_job, ctx) {
      let last: unknown = 0
      for (const [n, what] of script.entries()) {
        await maybe(failures)
        if (what === 0) last = await ctx.plan(`p${n}`, () => [n, random(100)])
        if (what === 1) last = await ctx.node(`n${n}`, () => random(100))
        if (what === 2 || what === 3)
          last = await ctx.tool(`t${n}`, { n }, async () => {
            await maybe(3 * failures)
            return { found: random(100) }
          })
        if (what === 4) await ctx.step(`s${n}`, () => random(100))
        if (what === 5) ctx.progress({ line: n, at: random(100) })
        if (what === 6) await ctx.sleep(`sleep${n}`, '1h')
        if (what === 7) await ctx.receive('go', { timeout: '2h' })
        if (what === 9) await ctx.undo(`u${n}`, () => maybe(failures), { retry: { max: 1 } })
        if (what === 8)
          last = await ctx.tool(`c${n}`, n, () => Promise.reject(new TypeError('caught'))).catch(String)
      }
      return { last }
    },
  })
  return { life, workers }
}

describe.each(DIALECTS)('replay, on %s', (dialect) => {
  it('tells the state of a job that keeps all events, after random lives', { timeout: 120_000 }, async () => {
    const met = new Set<string>()
    for (let start = 1; start <= 6; start++) {
      const random = randomNumbers(start)
      const { life, workers } = makeLife(random, start % 2 === 0 ? 4 : 25)
      const database = await createDatabase(dialect)
      const test = await createTestWorker({ jobs, workers, url: database.url, now: START })
      life.test = test
      try {
        const id = await test.enqueue('agent', { start })
        for (let round = 0; round < ROUNDS; round++) {
          const what = random(8)
          if (what < 3) await test.drain()
          else if (what < 5) await test.advance(HOUR)
          else if (what === 5) await test.signal(id, 'go', round).catch(() => {})
          else if (what === 6) await test.store.requeue([id])
          else if (what === 7 && random(2) === 0) await rerun(test.store, id, random)
          else if (random(3) === 0) await test.store.cancel([id])
          const row = await test.store.get(id)
          if (!row) throw new Error('the job is gone')
          const events = withEnds(row, await allEvents(test.store, id))
          const state = replay(events)
          const { status, run, progress, result, error } = state
          const where = `life ${start}, round ${round}`
          expect({ status, run, progress, result, error }, where).toEqual(stateOf(row))
          expect(resultsOf(state), where).toEqual(await recorded(test.store, id))
          for (const { type } of events) met.add(type)
          met.add(status)
          if (row.waits) met.add('suspended')
        }
      } finally {
        await test.close()
        await database.drop()
      }
    }
    // Otherwise chance has left out what this test is about.
    expect([...met]).toEqual(
      expect.arrayContaining([
        ...['pending', 'suspended', 'processing', 'completed', 'failed', 'cancelled'],
        ...['run_failed', 'run_snoozed', 'run_crashed', 'requeued', 'progressed', 'run_suspended'],
        ...['steps_forgotten', 'undoing', 'undone'],
        ...['plan_generated', 'node_finished', 'tool_returned'],
      ]),
    )
  })
})

it.each(DIALECTS)(
  'replay tells that a run was cancelled and its job is being undone, on %s',
  async (dialect) => {
    const database = await createDatabase(dialect)
    const workers = defineWorkers(jobs, {
      async agent(_job, ctx) {
        await ctx.undo('u', () => Promise.reject(new Error('not yet')), {
          retry: { max: 1, baseDelay: HOUR },
        })
        throw new Cancel('enough')
      },
    })
    const test = await createTestWorker({ jobs, workers, url: database.url, now: START })
    try {
      const id = await test.enqueue('agent', null)
      await test.drain()
      const row = await test.store.get(id)
      if (!row) throw new Error('the job is gone')
      expect(row.ending?.status).toBe('cancelled')
      const { status, run, progress, result, error } = replay(withEnds(row, await allEvents(test.store, id)))
      expect({ status, run, progress, result, error }).toEqual(stateOf(row))
    } finally {
      await test.close()
      await database.drop()
    }
  },
)

/** From the start, or from one of the recorded steps. */
async function rerun(store: Store, id: string, random: (below: number) => number): Promise<void> {
  const steps = Object.keys(await recorded(store, id))
  const step = random(2) === 0 ? null : (steps[random(steps.length)] ?? null)
  await store.requeueFrom({ id, step }).catch((error) => {
    if (error.code !== 'INVALID_STATE') throw error
  })
}

type State = ReturnType<typeof replay>

/** The finished plans, nodes and tools of a replay. */
function resultsOf({ plans, nodes, tools }: State): Record<string, unknown> {
  const all = [...plans, ...nodes, ...tools].filter(([, { status }]) => status === 'finished')
  return Object.fromEntries(all.map(([name, { result }]) => [name, result]))
}

/** The same from the outcomes. */
async function recorded(store: Store, id: string): Promise<Record<string, unknown>> {
  const steps = (await store.durable.outcomes(id)).filter(
    ({ key, kind }) => kind === 'step' && !key.startsWith('step:s'),
  )
  return Object.fromEntries(
    steps.map(({ key, data }) => [key.slice('step:'.length), (data as { result: unknown }).result]),
  )
}
