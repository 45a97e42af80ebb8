import { randomBytes } from 'node:crypto'
import { expect, inject, test } from 'vitest'
import { eventsStatement, outcomesStatement } from '../src/portable/reads/timeline.ts'
import { toPostgres } from '../src/portable/sql.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { aJob, Bench, claimOne, WORKER } from './conformance/harness.ts'
import { createPostgresDatabase } from './support/index.ts'

type Plan = { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }

const COUNT = 20
/** Incompressible: two pages of base64 are two pages on disk. */
const LARGE = JSON.stringify({ result: randomBytes(150_000).toString('base64') })

const bench = new Bench({
  name: 'Postgres',
  createDatabase: () => createPostgresDatabase(inject('postgresUrl')),
  transactions: [],
})

/** A value of 200 KB that is unpacked takes 25 pages more. */
test('a timeline reads none of the pages of the values that it leaves out', async () => {
  const store = await bench.openWithClock()
  await store.enqueue([aJob()])
  const { id, run } = await claimOne(store)
  const numbers = Array.from({ length: COUNT }, (_, n) => n)
  const outcomes = numbers.map((n) => ({ key: `step:s${n}`, kind: 'step', data: LARGE }) as const)
  await store.durable.record([{ id, run, after: 0, outcomes }], WORKER)
  await store.events.append(
    id,
    null,
    numbers.map(() => ({ type: 'told', data: { text: LARGE.slice(0, 60_000) } })),
  )
  const client = new PostgresClient(bench.url, 1)
  try {
    for (const statement of [outcomesStatement('postgres', id), eventsStatement('postgres', id)]) {
      const { text, values } = toPostgres(statement)
      const [row] = await client.query({
        text: `explain (analyze, buffers, format json) ${text}`,
        values,
      })
      const [[{ Plan: plan }]] = row as [[{ Plan: Plan }]]
      expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(COUNT)
    }
  } finally {
    await client.close()
  }
  const story = await store.timeline(id)
  const steps = story?.entries.filter(({ kind }) => kind === 'step') ?? []
  expect(steps.map(({ data, size }) => [data, size])).toEqual(numbers.map(() => [null, LARGE.length]))
})
