import type { Benchmark } from '../benchmark.ts'
import { count, percent, progress, table } from '../report.ts'
import { openQuietPostgres } from '../server.ts'
import { Fixture } from './fixture.ts'

interface Case {
  readonly name: string
  /** Adds jobs that must not be walked: `many` of a kind, or 1 for the table of comparison. */
  readonly fill: (fixture: Fixture, many: number) => Promise<void>
  readonly mark?: true
}

const PARKED = 5_000
const READY = 1_000

const CASES: readonly Case[] = [
  { name: 'only the ready ones', fill: async () => {} },
  { name: 'future, high priority', fill: (fixture, many) => fixture.future(many) },
  { name: 'ties on one moment', fill: (fixture, many) => fixture.ties(many) },
  { name: `${count(PARKED)} parked`, fill: (fixture, many) => fixture.parked(Math.min(many, PARKED)) },
  {
    name: 'finished',
    async fill(fixture, many) {
      await fixture.finished(many)
      await fixture.vacuum()
    },
  },
  { name: 'finished, no vacuum yet', fill: (fixture, many) => fixture.finished(many) },
  { name: '… with the low-water mark', fill: (fixture, many) => fixture.finished(many), mark: true },
  {
    name: 'all of them',
    async fill(fixture, many) {
      await fixture.finished(many)
      await fixture.vacuum()
      await fixture.future(many)
      await fixture.ties(many)
      await fixture.parked(Math.min(many, PARKED))
    },
  },
]

export const plans: Benchmark = {
  summary: 'pages that a claim touches among a million jobs that it must not take (Postgres)',
  async run({ jobs = 1_000_000 }) {
    const database = await openQuietPostgres()
    try {
      const results = []
      for (const { name, fill, mark = false } of CASES) {
        progress(`plans: ${name}`)
        const measure = async (many: number) => {
          const fixture = new Fixture(database.admin)
          await fixture.clear()
          await fill(fixture, many)
          await fixture.ready(READY)
          return { of10: await fixture.buffers(10, mark), of500: await fixture.buffers(500, mark) }
        }
        results.push({ name, small: await measure(1), large: await measure(jobs) })
      }
      return { data: { version: database.version, jobs, ready: READY, results }, text: textOf(jobs, results) }
    } finally {
      await database.close()
    }
  },
}

type Pages = { readonly of10: number; readonly of500: number }
type Result = { readonly name: string; readonly small: Pages; readonly large: Pages }

function textOf(jobs: number, results: readonly Result[]): string {
  const head = [
    `${count(jobs)} jobs that are …`,
    'claim of 10',
    'small table',
    '',
    'claim of 500',
    'small table',
    '',
  ]
  const rows = results.map(({ name, small, large }) => [
    name,
    count(large.of10),
    count(small.of10),
    percent(large.of10 / small.of10),
    count(large.of500),
    count(small.of500),
    percent(large.of500 / small.of500),
  ])
  return `Pages touched, beside ${count(READY)} ready jobs\n\n${table(head, rows)}`
}
