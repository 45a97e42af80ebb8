import { isFinished, JOB_STATUSES } from '@oncue/core'
import { statusesOf } from '@oncue/core/wire'
import { describe, expect, it } from 'vitest'
import type { JobFilter, PageRequest, Store } from '../../src/store.ts'
import { Bench, type Dialect } from './harness.ts'
import { type Known, Life, QUEUES, TOPICS } from './life.ts'
import { Random } from './random.ts'

const ROUNDS = [1, 2, 3, 4]
const WALKS = 8

export function describePaging(dialect: Dialect): void {
  describe('paging', () => {
    const bench = new Bench(dialect)

    it.each(ROUNDS)(
      'by cursor skips nothing and shows nothing twice while jobs come, finish, return and go (random %i)',
      async (seed) => {
        const store = await bench.openWithClock()
        const random = new Random(seed)
        const life = new Life(store, bench.clock, random)
        for (let i = 0; i < 60; i++) await life.step()
        for (let walk = 0; walk < WALKS; walk++) {
          const filter = someFilter(random, life)
          const order = random.pick(ORDERS)
          const matching = () =>
            new Set([...life.jobs.values()].filter((job) => matches(job, filter)).map(({ id }) => id))
          let throughout = matching()
          const ever = new Set(throughout)
          const shown: Known[] = []
          await forEachPage(store, filter, { order, limit: 1 + random.below(8) }, async (items) => {
            shown.push(...(items as unknown as Known[]))
            for (let i = random.below(4); i > 0; i--) await life.step()
            const now = matching()
            throughout = new Set([...throughout].filter((id) => now.has(id)))
            for (const id of now) ever.add(id)
          })
          const ids = shown.map(({ id }) => id)
          expect(new Set(ids).size, 'nothing twice').toBe(ids.length)
          expect(
            [...throughout].filter((id) => !ids.includes(id)),
            'nothing skipped',
          ).toEqual([])
          expect(
            ids.filter((id) => !ever.has(id)),
            'nothing that never matched',
          ).toEqual([])
          expect(ids).toEqual(shown.toSorted(IN[order]).map(({ id }) => id))
        }
      },
    )

    it.each(ROUNDS)(
      'shows every job that matches, by cursor and by offset, and knows how many (random %i)',
      async (seed) => {
        const store = await bench.openWithClock()
        const random = new Random(1_000 + seed)
        const life = new Life(store, bench.clock, random)
        for (let i = 0; i < 80; i++) await life.step()
        for (let walk = 0; walk < 3 * WALKS; walk++) {
          const filter = someFilter(random, life)
          const order = random.pick(ORDERS)
          const expected = [...life.jobs.values()].filter((job) => matches(job, filter)).sort(IN[order])
          const shown: string[] = []
          const totals = new Set<number>()
          await forEachPage(store, filter, { order, limit: 1 + random.below(20) }, async (items, total) => {
            shown.push(...items.map(({ id }) => id))
            totals.add(total)
          })
          expect(shown).toEqual(expected.map(({ id }) => id))
          expect([...totals]).toEqual([expected.length])
          const offset = random.below(expected.length + 2)
          const page = await store.list(filter, { order, offset, limit: 5 })
          expect(page).toMatchObject({ total: expected.length, totalIsExact: true })
          expect(page.items.map(({ id }) => id)).toEqual(
            expected.slice(offset, offset + 5).map(({ id }) => id),
          )
        }
      },
    )
  })
}

async function forEachPage(
  store: Store,
  filter: JobFilter,
  page: PageRequest,
  see: (items: { readonly id: string }[], total: number) => Promise<void>,
): Promise<void> {
  let cursor: string | undefined
  do {
    const { items, total, nextCursor } = await store.list(filter, { ...page, cursor })
    await see(items, total)
    cursor = nextCursor ?? undefined
  } while (cursor !== undefined)
}

function someFilter(random: Random, life: Life): JobFilter {
  const jobs = [...life.jobs.values()]
  const time = () => random.pick(jobs)?.created ?? new Date()
  const [from, to] = [time(), time()].sort((a, b) => a.getTime() - b.getTime())
  const one = random.pick(JOB_STATUSES)
  const status = random.pick([one, [one, random.pick(JOB_STATUSES)]])
  return random.pick<JobFilter>([
    {},
    { status },
    { queue: random.pick(QUEUES) },
    { topic: random.pick(TOPICS) },
    { queue: random.pick(QUEUES), topic: random.pick(TOPICS), status },
    { meta: { agent: random.below(3) } },
    { meta: { agent: random.below(3) }, status },
    { fingerprint: random.pick(['f00d', 'beef']) },
    { fingerprint: 'cafe', status },
    { createdFrom: from, createdTo: to },
    { createdFrom: from, queue: random.pick(QUEUES) },
    { idPrefix: random.pick(jobs)?.id.slice(0, 1 + random.below(36)) ?? '' },
    { idPrefix: random.pick(jobs)?.id.slice(0, 9 + random.below(20)) ?? '', status },
    { idSuffix: random.pick(jobs)?.id.slice(-4 - random.below(32)) ?? 'cafe' },
    { idSuffix: random.pick(jobs)?.id.slice(-8) ?? 'cafe', status },
    { errorText: random.pick(['no f00d', 'BEEF', 'Error: No']) },
    { errorText: 'cafe', status, queue: random.pick(QUEUES) },
    { errorText: 'cafe', meta: { agent: random.below(3) }, topic: random.pick(TOPICS) },
  ])
}

function matches(job: Known, filter: JobFilter): boolean {
  const { status, queue, topic, meta, fingerprint, errorText, createdFrom, createdTo } = filter
  const { idPrefix = '', idSuffix = '' } = filter
  const mayHaveFailed = job.status === 'failed' || !isFinished(job.status)
  return (
    (statusesOf({ status })?.includes(job.status) ?? true) &&
    (queue === undefined || job.queue === queue) &&
    (topic === undefined || job.topic === topic) &&
    (meta === undefined || job.agent === meta.agent) &&
    (fingerprint === undefined || (job.fingerprint === fingerprint && mayHaveFailed)) &&
    (errorText === undefined ||
      (job.fingerprint !== null &&
        mayHaveFailed &&
        `typeerror: no ${job.fingerprint}`.includes(errorText.toLowerCase()))) &&
    (createdFrom === undefined || job.created >= createdFrom) &&
    (createdTo === undefined || job.created < createdTo) &&
    job.id.startsWith(idPrefix) &&
    job.id.endsWith(idSuffix)
  )
}

const ORDERS = ['newest', 'oldest'] as const

const IN = {
  newest: (a: Known, b: Known) => b.created.getTime() - a.created.getTime() || (a.id < b.id ? 1 : -1),
  oldest: (a: Known, b: Known) => IN.newest(b, a),
}
