import { type NewJob, prepareJob } from '@oncue/core'
import { type Cost, measure, NOTHING, plus } from '../measure.ts'
import type { Contender, Run } from './contender.ts'

export const STEPS = ['enqueue 1 000', 'enqueue 1', 'claim 500', 'settle 500', 'drain 500'] as const
export type Step = (typeof STEPS)[number]

const BULK = 1_000
const BATCH = 500

export type Round = Record<Step, Cost>

type Work = (contender: Contender) => Promise<Partial<Round>>

/**
 * The parts of a round, in their order. Jobs are made before the clock starts: ids and JSON cost the
 * same for both. Claims and settles alternate, so that no claim has to walk over what earlier ones own.
 */
export function partsOf(jobs: number, singles: number): readonly Work[] {
  return [
    (contender) => enqueueBulk(contender, jobs),
    (contender) => claimAndSettle(contender, jobs),
    (contender) => enqueueSingly(contender, singles),
    (contender) => enqueueBulk(contender, jobs),
    async (contender) => {
      const cost = await drain(contender)
      expectAll('drained', cost.jobs, jobs + singles)
      return { 'drain 500': cost }
    },
  ]
}

export function someJobs(count: number, payload: unknown): NewJob[] {
  return Array.from({ length: count }, () => prepareJob('mail_digest', payload))
}

/** 100 bytes of JSON. */
const PAYLOAD = { userId: 'x'.repeat(87) }

async function enqueueBulk(contender: Contender, count: number): Promise<Partial<Round>> {
  const batches: NewJob[][] = []
  for (let left = count; left > 0; left -= BULK) batches.push(someJobs(Math.min(left, BULK), PAYLOAD))
  return { 'enqueue 1 000': await enqueueAll(contender, batches) }
}

async function enqueueSingly(contender: Contender, count: number): Promise<Partial<Round>> {
  const batches = someJobs(count, PAYLOAD).map((job) => [job])
  return { 'enqueue 1': await enqueueAll(contender, batches) }
}

export async function enqueueAll(contender: Contender, batches: readonly NewJob[][]): Promise<Cost> {
  const { ms, cpuMs } = await measure(async () => {
    for (const batch of batches) await contender.enqueue(batch)
  })
  return { jobs: batches.flat().length, ms, cpuMs }
}

async function claimAndSettle(contender: Contender, count: number): Promise<Partial<Round>> {
  let claim = NOTHING
  let settle = NOTHING
  for (;;) {
    const { value: runs, ...claimed } = await measure(() => contender.claim(BATCH))
    if (runs.length === 0) break
    claim = plus(claim, { jobs: runs.length, ...claimed })
    const { ms, cpuMs } = await measure(() => contender.settle(runs))
    settle = plus(settle, { jobs: runs.length, ms, cpuMs })
  }
  expectAll('settled', settle.jobs, count)
  return { 'claim 500': claim, 'settle 500': settle }
}

export async function drain(contender: Contender): Promise<Cost> {
  let jobs = 0
  const { ms, cpuMs } = await measure(async () => {
    let runs: readonly Run[] = await contender.claim(BATCH)
    while (runs.length > 0) {
      jobs += runs.length
      runs = await contender.settleAndClaim(runs, BATCH)
    }
  })
  return { jobs, ms, cpuMs }
}

/** A benchmark that loses jobs would look fast. */
function expectAll(what: string, found: number, expected: number): void {
  if (found !== expected) throw new Error(`${what} ${found} jobs of ${expected}`)
}
