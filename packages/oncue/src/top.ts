import { ACTION_METHODS, openStore, type Store, toTarget } from '@oncue/db'
import { count, type Output } from '@oncue/db/cli'
import type { Command } from 'commander'
import { type Call, implement, whoami } from './command.ts'
import { openScreen, type Screen } from './screen.ts'
import { askToRetry, type Effect, press, START, type TopState } from './top-keys.ts'
import { queuesOf, render, type Snapshot } from './top-view.ts'

const REFRESH_MS = 1_000
const MINUTE_MS = 60_000
const FAILURES_MS = 60 * MINUTE_MS
/** The throughput of each queue takes a query of its own. */
const MAX_QUEUES = 20

interface Options {
  readonly once?: true
}

export function addTop(program: Command): void {
  implement<Options>(
    program
      .command('top')
      .summary('watch queues, workers, errors and running jobs live')
      .description(
        'watch queues, workers, errors and running jobs live; pause queues and retry errors by keys (? lists them). Without a terminal: one snapshot',
      )
      .option('--once', 'print one snapshot and exit'),
    ['', '--once', '--json'],
    top,
  )
}

async function top({ url, schema, options }: Call<Options>): Promise<Output | undefined> {
  const store = await openStore(url, { schema, poolSize: 2 })
  try {
    if (process.stdout.isTTY && process.stdin.isTTY && !options.json && !options.once) {
      await live(store, openScreen())
      return undefined
    }
    const snapshot = await look(store)
    const everything = { width: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY }
    return { text: render(snapshot, everything).join('\n'), json: snapshot }
  } finally {
    await store.close()
  }
}

/** Until the user quits, or the process is asked to end. */
export async function live(store: Store, screen: Screen): Promise<void> {
  let snapshot: Snapshot | undefined
  let problem: string | undefined
  let state = START
  const draw = () => {
    screen.draw(snapshot ? render(snapshot, screen.size(), { problem, state }) : [problem ?? 'loading …'])
  }
  const change = (next: TopState) => {
    state = next
    draw()
  }
  screen.onResize(draw)
  screen.onKey((key) => {
    if (!snapshot) return false
    const shown = { queues: queuesOf(snapshot, state), failures: snapshot.failures }
    const { state: next, effect } = press(state, key, shown)
    if (effect?.kind === 'quit') return false
    change(next)
    if (effect?.kind === 'look') screen.wake()
    else if (effect)
      void perform(store, effect, next)
        .catch((error: unknown) => ({ ...next, message: `failed: ${messageOf(error)}` }))
        // What was pressed meanwhile is kept.
        .then(({ question, message }) => change({ ...state, question, message }))
        .then(() => screen.wake())
    return true
  })
  try {
    while (!screen.isClosed()) {
      draw()
      try {
        snapshot = await look(store, state.queue ?? undefined)
        problem = undefined
      } catch (error) {
        // A database that restarts is what one looks at this for: it stays on the screen and tries again.
        problem = messageOf(error)
      }
      draw()
      await screen.wait(REFRESH_MS)
    }
  } finally {
    screen.close()
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** What an action touches is counted before it is asked for; then it is done, and its numbers are said. */
async function perform(
  store: Store,
  { kind, action }: Exclude<Effect, { readonly kind: 'quit' | 'look' }>,
  state: TopState,
): Promise<TopState> {
  const by = whoami()
  if (action.kind !== 'retry') {
    if (action.kind === 'pause') await store.pause(action.queue, by)
    else await store.resume(action.queue, by)
    return { ...state, message: `${action.queue} is ${action.kind}d` }
  }
  const { fingerprint, queue } = action
  const target = (status: 'pending' | 'failed') =>
    toTarget({ fingerprint, status, ...(queue !== null && { queue }) })
  if (kind === 'prepare') {
    const counted = (status: 'pending' | 'failed') => store.list(target(status), { limit: 1 })
    const [retrying, failed] = await Promise.all([counted('pending'), counted('failed')])
    return askToRetry(state, action, retrying, failed)
  }
  const due = await store[ACTION_METHODS.run_now](target('pending'), { by })
  const requeued = await store[ACTION_METHODS.requeue](target('failed'), { by })
  const skipped = [due, requeued]
    .flatMap((report) => Object.values(report.skipped))
    .reduce((sum, many) => sum + many, 0)
  const message = `${count(due.done, 'job')} set to run now, ${requeued.done.toLocaleString('en-US')} requeued, ${skipped.toLocaleString('en-US')} skipped`
  return { ...state, message }
}

/** Of one queue, or of all. */
async function look(store: Store, queue?: string): Promise<Snapshot> {
  const now = await store.now()
  const [queues, everyWorker, running, failures, whole] = await Promise.all([
    store.queues(),
    store.workers({ ended: true }),
    store.list({ status: 'processing', ...(queue !== undefined && { queue }) }, { limit: 200 }),
    store.failures({
      since: new Date(now.getTime() - FAILURES_MS),
      sort: 'largest',
      limit: 10,
      ...(queue !== undefined && { queue }),
    }),
    ended(store, now),
  ])
  const busiest = queues
    .toSorted((a, b) => b.waiting + b.running - (a.waiting + a.running))
    .filter((each, n) => n < MAX_QUEUES || each.queue === queue)
  const rates = await Promise.all(busiest.map((each) => ended(store, now, each.queue)))
  return {
    now,
    perMinute: whole.perMinute,
    runningTotal: running.total,
    queues: busiest.map((each, n) => ({ ...each, ...(rates[n] ?? NONE) })),
    workers: everyWorker.filter(({ ended }) => ended === null),
    lost: everyWorker.filter(
      ({ ended }) => ended?.how === 'lost' && now.getTime() - ended.at.getTime() < FAILURES_MS,
    ),
    running: running.items.toSorted((a, b) => timeOf(a.startedAt) - timeOf(b.startedAt)),
    failures,
  }
}

const timeOf = (date: Date | null) => date?.getTime() ?? Number.POSITIVE_INFINITY

const NONE = { perMinute: 0, failedPerMinute: 0 }

/** Of the last sixty seconds: this minute so far, and the part of the one before that they reach into. */
async function ended(store: Store, now: Date, queue?: string): Promise<typeof NONE> {
  const minute = Math.trunc(now.getTime() / MINUTE_MS) * MINUTE_MS
  const points = await store.series({ from: new Date(minute - MINUTE_MS), to: now, queue })
  const elapsed = (now.getTime() - minute) / MINUTE_MS
  const sum = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((all, point) => all + of(point) * (point.minute.getTime() === minute ? 1 : 1 - elapsed), 0)
  return {
    perMinute: Math.round(sum(({ completed, failed }) => completed + failed)),
    // One is never rounded away.
    failedPerMinute: Math.ceil(sum(({ failed, retried }) => failed + retried)),
  }
}
