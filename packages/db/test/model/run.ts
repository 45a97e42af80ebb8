import { fork } from 'node:child_process'
import { once } from 'node:events'
import { nap } from '@oncue/testing'
import { openStore } from '../../src/open.ts'
import type { Store } from '../../src/store.ts'
import { QUEUE_LIMIT, QUEUES } from './actor.ts'
import { checkMoment, checkRecord, checkRest, unfinished } from './check.ts'
import { openReader, type Reader } from './reader.ts'
import { emptyRecord, merged, type Record } from './record.ts'

export type ModelOptions = {
  /** The same number makes the same choices; their results depend on timing. */
  readonly random: number
  readonly processes: number
  readonly actors: number
  /** How many calls each actor makes. */
  readonly steps: number
}

export type ModelReport = {
  readonly violations: string[]
  readonly record: Record
  readonly moments: number
  /** Counted by Postgres; always 0 on SQLite. */
  readonly deadlocks: number
}

/** Without any progress for this long, what is left is stuck. Leases last less than a second. */
const STUCK_MS = 30_000

/**
 * Lets many actors do everything at once, from several processes, on a migrated database. Checks limits and keys
 * while they act; then works off what is left, and compares the tables with what the actors were told.
 */
export async function runModel(url: string, options: ModelOptions): Promise<ModelReport> {
  const store = await openStore(url)
  const reader = await openReader(url)
  try {
    await store.limit({ queue: 'limited' }, { maxRunning: QUEUE_LIMIT })
    const acting = act(url, options)
    const { violations, moments } = await watch(reader, acting)
    const record = merged(await acting)
    for (const queue of QUEUES) await store.resume(queue)
    violations.push(...(await workOff(store, reader)))
    while ((await store.rollUp()) > 0);
    violations.push(...checkRecord(record), ...(await checkRest(reader, record, await store.stats())))
    return { violations: [...new Set(violations)], record, moments, deadlocks: await deadlocksOf(reader) }
  } finally {
    await reader.close()
    await store.close()
  }
}

/** A deadlock is no violation: the call that lost is retried, after a second. Many of them are a storm. */
async function deadlocksOf(reader: Reader): Promise<number> {
  if (reader.dialect === 'sqlite') return 0
  const [row] = await reader('select deadlocks from pg_stat_database where datname = current_database()')
  return Number(row?.deadlocks)
}

function act(url: string, { random, processes, actors, steps }: ModelOptions): Promise<Record[]> {
  return Promise.all(
    Array.from({ length: processes }, async (_, n) => {
      const parameters = [url, random * 100 + n, actors, steps].map(String)
      const child = fork(new URL('./process.ts', import.meta.url), parameters, { execArgv: [] })
      const exited = once(child, 'exit')
      const messages = once(child, 'message')
      const [answer] = await Promise.race([messages, exited])
      if (typeof answer !== 'object' || !answer)
        return { ...emptyRecord(), surprises: [`a process ended with ${answer}`] }
      await exited
      return answer as Record
    }),
  )
}

async function watch(
  reader: Reader,
  acting: Promise<unknown>,
): Promise<{ violations: string[]; moments: number }> {
  const violations = new Set<string>()
  let moments = 0
  let isOver = false
  const over = acting.finally(() => {
    isOver = true
  })
  while (!isOver) {
    for (const violation of await checkMoment(reader)) violations.add(violation)
    moments++
    await Promise.race([over, nap(10)])
  }
  return { violations: [...violations], moments }
}

/** Completes all that is due, until nothing is left or nothing moves. */
async function workOff(store: Store, reader: Reader): Promise<string[]> {
  const worker = crypto.randomUUID()
  for (let lastProgress = Date.now(); ; ) {
    await store.rescue(worker)
    const { jobs } = await store.claim({
      queues: QUEUES,
      limit: 200,
      worker,
      leaseMs: 60_000,
      thorough: true,
    })
    await store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'complete' })))
    if (jobs.length > 0) {
      lastProgress = Date.now()
      continue
    }
    const left = await unfinished(reader, await store.now())
    if (left.length === 0) return []
    if (Date.now() - lastProgress > STUCK_MS) return left.map((job) => `stuck: ${job}`)
    await nap(20)
  }
}
