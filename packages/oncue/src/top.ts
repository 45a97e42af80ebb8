import { openStore, type Store } from '@oncue/db'
import type { Output } from '@oncue/db/cli'
import type { Command } from 'commander'
import { type Call, implement } from './command.ts'
import { openScreen } from './screen.ts'
import { render, type Snapshot } from './top-view.ts'

const REFRESH_MS = 1_000
const MINUTE_MS = 60_000
const FAILURES_MS = 60 * MINUTE_MS
/** The throughput of each queue takes a query of its own. */
const MAX_QUEUES = 20

export function addTop(program: Command): void {
  implement<object>(
    program
      .command('top')
      .summary('watch queues, workers and running jobs live')
      .description('watch queues, workers and running jobs live; q quits. Without a terminal: one snapshot'),
    ['', '--json'],
    top,
  )
}

async function top({ url, schema, options }: Call<object>): Promise<Output | undefined> {
  const store = await openStore(url, { schema, poolSize: 2 })
  try {
    if (process.stdout.isTTY && process.stdin.isTTY && !options.json) {
      await live(store)
      return undefined
    }
    const snapshot = await look(store)
    const everything = { width: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY }
    return { text: render(snapshot, everything).join('\n'), json: snapshot }
  } finally {
    await store.close()
  }
}

async function live(store: Store): Promise<void> {
  const screen = openScreen()
  let snapshot: Snapshot | undefined
  let problem: string | undefined
  const draw = () => {
    const lines = snapshot ? render(snapshot, screen.size(), problem) : [problem ?? 'loading …']
    screen.draw(lines)
  }
  screen.onResize(draw)
  try {
    while (!screen.isClosed()) {
      draw()
      try {
        snapshot = await look(store)
        problem = undefined
      } catch (error) {
        // This is what one watches while a database restarts: it stays on the screen and retries.
        problem = error instanceof Error ? error.message : String(error)
      }
      draw()
      await screen.wait(REFRESH_MS)
    }
  } finally {
    screen.close()
  }
}

async function look(store: Store): Promise<Snapshot> {
  const now = await store.now()
  const [queues, everyWorker, running, failures, perMinute] = await Promise.all([
    store.queues(),
    store.workers({ ended: true }),
    store.list({ status: 'processing' }, { limit: 200 }),
    store.failures({ since: new Date(now.getTime() - FAILURES_MS), sort: 'largest', limit: 10 }),
    throughput(store, now),
  ])
  const busiest = queues
    .toSorted((a, b) => b.waiting + b.running - (a.waiting + a.running))
    .slice(0, MAX_QUEUES)
  const rates = await Promise.all(busiest.map(({ queue }) => throughput(store, now, queue)))
  return {
    now,
    perMinute,
    runningTotal: running.total,
    queues: busiest.map((queue, n) => ({ ...queue, perMinute: rates[n] ?? 0 })),
    workers: everyWorker.filter(({ ended }) => ended === null),
    lost: everyWorker.filter(
      ({ ended }) => ended?.how === 'lost' && now.getTime() - ended.at.getTime() < FAILURES_MS,
    ),
    running: running.items.toSorted((a, b) => timeOf(a.startedAt) - timeOf(b.startedAt)),
    failures,
  }
}

const timeOf = (date: Date | null) => date?.getTime() ?? Number.POSITIVE_INFINITY

/** The last sixty seconds: this minute so far, and the part of the previous one that they include. */
async function throughput(store: Store, now: Date, queue?: string): Promise<number> {
  const minute = Math.trunc(now.getTime() / MINUTE_MS) * MINUTE_MS
  const points = await store.series({ from: new Date(minute - MINUTE_MS), to: now, queue })
  const elapsed = (now.getTime() - minute) / MINUTE_MS
  const finished = points.map(({ minute: of, completed, failed }) => {
    const share = of.getTime() === minute ? 1 : 1 - elapsed
    return (completed + failed) * share
  })
  return Math.round(finished.reduce((sum, part) => sum + part, 0))
}
