import type { EnqueueOptions } from '@oncue/core'
import { count } from '../report.ts'
import { type Fixture, MOST, queueName } from './fixture.ts'

/** What stands beside the finished jobs, and how jobs are claimed and settled there. */
export interface Case {
  readonly name: string
  /** `most`: how many rows of a kind at most, as asked for by --jobs. */
  fill(fixture: Fixture, most: number): Promise<void>
  /** Plain jobs of one queue first, and then what the case is about. */
  readonly probes: readonly Probe[]
}

export interface Probe {
  /** Added to the name of the case. */
  readonly name: string
  /** What the claim names. */
  readonly queues: readonly string[]
  /** How many workers claim, and then settle, at once. */
  readonly workers: number
  readonly options?: (n: number) => EnqueueOptions
  /** Whether a job waits for each that is settled. */
  readonly hasDependants?: true
}

const PLAIN: Probe = { name: '', queues: ['default'], workers: 1 }
const KEYED = (n: number): EnqueueOptions => ({ concurrencyKey: `free-${n}`, concurrencyLimit: 1 })

export const ALONE = 'finished jobs alone'
export const TOGETHER = 'all together'

type Fill = Case['fill']
const future: Fill = (fixture, most) => fixture.future(Math.min(most, MOST.future))
const retrying: Fill = (fixture, most) => fixture.retrying(Math.min(most, MOST.retrying))
const inFlight: Fill = (fixture, most) => fixture.inFlight(Math.min(most, MOST.inFlight))
const queues: Fill = (fixture) => fixture.queues()
const keys: Fill = (fixture, most) => fixture.keys(Math.min(most, MOST.keys))
const edges: Fill = (fixture, most) => fixture.edges(Math.min(most, MOST.edges))
const workers: Fill = (fixture) => fixture.workers()

const upTo = (most: number, jobs: number) => count(Math.min(most, jobs))

export function casesOf(jobs: number): readonly Case[] {
  return [
    { name: ALONE, fill: async () => {}, probes: [PLAIN] },
    { name: `${upTo(MOST.future, jobs)} future jobs`, fill: future, probes: [PLAIN] },
    { name: `${upTo(MOST.retrying, jobs)} retrying`, fill: retrying, probes: [PLAIN] },
    { name: `${upTo(MOST.inFlight, jobs)} in flight`, fill: inFlight, probes: [PLAIN] },
    {
      name: `${count(MOST.queues)} queues`,
      fill: queues,
      probes: [
        PLAIN,
        {
          ...PLAIN,
          name: 'all named by the claim',
          queues: [...Array.from({ length: MOST.queues }, (_, n) => queueName(n)), 'default'],
        },
      ],
    },
    {
      name: `${upTo(MOST.keys, jobs)} concurrency keys`,
      fill: keys,
      probes: [PLAIN, { ...PLAIN, name: 'and one of each claimed job', options: KEYED }],
    },
    {
      name: `${upTo(MOST.edges, jobs)} dependency edges`,
      fill: edges,
      probes: [PLAIN, { ...PLAIN, name: 'and one at each settled job', hasDependants: true }],
    },
    {
      name: `${count(MOST.workers)} workers`,
      fill: workers,
      probes: [PLAIN, { ...PLAIN, name: 'which claim and settle at once', workers: MOST.workers }],
    },
    {
      name: TOGETHER,
      async fill(fixture, most) {
        for (const fill of [future, retrying, inFlight, queues, keys, edges, workers])
          await fill(fixture, most)
      },
      probes: [PLAIN],
    },
  ]
}

/** 10³, 10⁴, … and the number asked for. */
export function sizesOf(jobs: number): number[] {
  const sizes: number[] = []
  for (let size = 1_000; size < jobs; size *= 10) sizes.push(size)
  return [...sizes, jobs]
}
