import { randomUUID } from 'node:crypto'
import { prepareJob } from '@oncue/core'
import type { ClaimedJob, Store } from '@oncue/db'
import { measure } from '../measure.ts'
import type { Probe } from './cases.ts'
import { TOPIC } from './fixture.ts'
import type { PageCounter } from './pages.ts'

/** How many jobs one claim takes and one settle ends: few, so that what depends on the table shows. */
export const BATCH = 10
/** A new connection reads hundreds of pages of the catalog with its first claim. */
const WARM_UPS = 5
const LEASE_MS = 300_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const READS = {
  list: (store: Store) => store.list(),
  stats: (store: Store) => store.stats(),
  'failures, an hour': (store: Store) => store.failures({ since: new Date(Date.now() - HOUR_MS) }),
  'failures, a day': (store: Store) => store.failures({ since: new Date(Date.now() - DAY_MS) }),
}

export const OPERATIONS = ['claim', 'settle', ...(Object.keys(READS) as (keyof typeof READS)[])] as const

export type Operation = (typeof OPERATIONS)[number]

export interface Sample {
  readonly operation: Operation
  /** Milliseconds of each call. */
  readonly ms: number[]
  /** Pages that a call touched, by round; none on SQLite, which does not count them. */
  readonly pages: number[]
}

/** The first rounds warm the caches of the connections that take turns, and do not count. */
export async function probeClaims(
  store: Store,
  probe: Probe,
  rounds: number,
  counter: PageCounter | null,
): Promise<Sample[]> {
  const claims: Sample = { operation: 'claim', ms: [], pages: [] }
  const settles: Sample = { operation: 'settle', ms: [], pages: [] }
  const workers = Array.from({ length: probe.workers }, () => randomUUID())
  for (let round = 1 - WARM_UPS; round <= rounds; round++) {
    await enqueue(store, probe)
    const claimed = await atOnce(workers, counter, async (worker) => {
      const { jobs } = await store.claim({
        queues: probe.queues,
        limit: BATCH,
        worker,
        leaseMs: LEASE_MS,
      })
      return { worker, jobs }
    })
    assertClaimed(probe, claimed.values)
    const settled = await atOnce(claimed.values, counter, async ({ worker, jobs }) => {
      const ends = jobs.map(({ id, run }) => ({ id, run, kind: 'complete' as const }))
      return store.settle(ends, worker)
    })
    if (settled.values.some(({ stale }) => stale.length > 0))
      throw new Error('A run of the benchmark was lost')
    if (round < 1) continue
    keep(claims, claimed)
    keep(settles, settled)
  }
  return [claims, settles]
}

/** The first round warms the caches and does not count. */
export async function probeReads(
  store: Store,
  rounds: number,
  counter: PageCounter | null,
): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const [operation, read] of Object.entries<(store: Store) => Promise<unknown>>(READS)) {
    const sample: Sample = { operation: operation as keyof typeof READS, ms: [], pages: [] }
    for (let round = 0; round <= rounds; round++) {
      const called = await atOnce([store], counter, read)
      if (round > 0) keep(sample, called)
    }
    samples.push(sample)
  }
  return samples
}

async function enqueue(store: Store, { workers, options, hasDependants }: Probe): Promise<void> {
  const jobs = Array.from({ length: workers * BATCH }, (_, n) => prepareJob(TOPIC, { n }, options?.(n)))
  await store.enqueue(jobs)
  if (!hasDependants) return
  // Due tomorrow, so that no later claim takes them.
  const waiting = jobs.map(({ id }) => prepareJob(TOPIC, {}, { after: [id], delay: DAY_MS }))
  await store.enqueue(waiting)
}

type Called<T> = { readonly values: T[]; readonly ms: number[]; readonly pages: number | null }

/** Many calls at once, each timed, with the pages of one on average. */
async function atOnce<In, Out>(
  inputs: readonly In[],
  counter: PageCounter | null,
  call: (input: In) => Promise<Out>,
): Promise<Called<Out>> {
  await counter?.reset()
  const calls = await Promise.all(inputs.map((input) => measure(() => call(input))))
  const pages = counter && (await counter.read()) / inputs.length
  return { values: calls.map(({ value }) => value), ms: calls.map(({ ms }) => ms), pages }
}

function keep(sample: Sample, { ms, pages }: Called<unknown>): void {
  sample.ms.push(...ms)
  if (pages !== null) sample.pages.push(pages)
}

/**
 * A benchmark that takes other jobs, or none, would look fast. Of many claims at once one may find less: those beside it
 * have locked what it would take.
 */
function assertClaimed(
  { name, workers }: Probe,
  claims: readonly { readonly jobs: readonly ClaimedJob[] }[],
): void {
  const jobs = claims.flatMap((claim) => claim.jobs)
  const isEnough = workers === 1 ? jobs.length === BATCH : jobs.length > 0
  if (!isEnough || jobs.some(({ topic }) => topic !== TOPIC))
    throw new Error(`A claim took ${jobs.length} jobs${name && ` (${name})`}, and not those of the benchmark`)
}
