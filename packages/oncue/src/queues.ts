import { OncueError } from '@oncue/core'
import { assertQueue, INTERNAL_QUEUE } from '@oncue/core/internal'
import { MAX_PAUSE_SECONDS } from '@oncue/core/wire'
import { type Limit, type QueueOverview, type Store, shrinkage, timeToDrain } from '@oncue/db'
import { addExamples, count, plain, toDurationUpTo, toWhole } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'
import type { Command } from 'commander'
import { toRate } from './arguments.ts'
import { implement, whoami, withStore } from './command.ts'
import { fromNow, styled, table, terse } from './format.ts'
import { waitStates } from './queue-health.ts'

interface LimitOptions {
  readonly running?: number
  readonly rate?: { readonly count: number; readonly intervalMs: number }
  readonly off?: true
}

export function addQueues(program: Command): void {
  const queues = program.command('queues').description('list, explain, pause, resume and limit queues')
  addExamples(queues, ['', 'pause imports', 'limit mail --rate 100/min'])

  implement<object>(
    queues.command('list', { isDefault: true }).description('list queues and what is in them'),
    ['', '--json'],
    withStore('reading', async (store) => {
      const [queues, workers, now] = await Promise.all([store.queues(), store.workers(), store.now()])
      const [samples, states] = await Promise.all([
        store.gauges.list({ from: new Date(now.getTime() - TREND_MS), to: now }),
        waitStates(store, queues, workers, now),
      ])
      const rows = queues.map((row) => {
        const pace = row.paused || row.waiting === 0 ? null : shrinkage(row, samples, now)
        return {
          ...row,
          state: states.get(row.queue)?.state ?? null,
          why: states.get(row.queue)?.why ?? null,
          drainMs: row.paused ? null : timeToDrain(row, samples, now),
          isShrinking: pace === null ? null : pace > 0,
        }
      })
      const text = rows.length
        ? table(
            TITLES,
            rows.map((row) => toRow(row, now)),
          )
        : 'no queues yet'
      return { text, json: rows }
    }),
  )

  implement<object>(
    queues
      .command('explain')
      .description('why the jobs of a queue wait, and about how long until none does')
      .argument('<queue>', 'name of the queue'),
    ['mail', 'mail --json'],
    withStore('reading', async (store, { args }) => {
      const found = await store.explainQueue(readQueue(args))
      const { waiting, reasons, drain } = found
      const lines = [...reasons.map(({ text }) => text), ...(drain ? [drain.text] : [])]
      const wait = `${count(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'}`
      const text = [waiting === 0 ? 'nothing waits' : wait, ...lines.map(terse)].join('\n')
      return { text, json: found }
    }),
  )

  implement<{ readonly for?: number }>(
    queues
      .command('pause')
      .description('pause a queue: running jobs continue, no new ones start')
      .argument('<queue>', 'name of the queue')
      .option(
        '--for <time>',
        'end the pause by itself, after at most 30 days: 30m, 2h',
        toDurationUpTo(MAX_PAUSE_SECONDS * 1_000),
      ),
    ['imports', 'imports --for 30m'],
    withStore('pause', async (store, { args, options, note }) => {
      const queue = readQueue(args)
      await noteUnused(store, queue, note)
      await store.pause(queue, whoami(), options.for)
      const end = options.for === undefined ? '' : ` for ${formatDuration(options.for)}`
      const alerts = queue === INTERNAL_QUEUE ? '; no alerts are sent while it is paused' : ''
      const text = `${queue} is paused${end}: running jobs continue, no new ones start${alerts}`
      return { text, json: { queue, paused: true, forMs: options.for ?? null } }
    }),
  )

  implement<object>(
    queues.command('resume').description('resume a queue').argument('<queue>', 'name of the queue'),
    ['imports'],
    withStore('resume', async (store, { args }) => {
      const queue = readQueue(args)
      const wasPaused = (await store.queues()).some((row) => row.queue === queue && row.paused)
      await store.resume(queue, whoami())
      const text = wasPaused ? `${queue} is resumed` : `${queue} was not paused`
      return { text, json: { queue, paused: false, wasPaused } }
    }),
  )

  implement<LimitOptions>(
    queues
      .command('limit')
      .description('limit a queue across all workers, effective immediately')
      .argument('<queue>', 'name of the queue')
      .option('--running <number>', 'max running at once', toWhole(1, 32_767))
      .option('--rate <count/time>', 'max starts per interval: 5/s, 100/min, 100/10s', toRate)
      .option('--off', 'remove the limit'),
    ['mail --running 5', 'mail --rate 100/min', 'mail --off'],
    withStore('limiting', async (store, { args, options: { running, rate, off }, note }) => {
      const queue = readQueue(args)
      if ((running ?? rate) === undefined ? !off : off) {
        throw new OncueError('INVALID_INPUT', 'Set a limit with --running or --rate, or remove it with --off')
      }
      const limit: Limit | null = off ? null : { maxRunning: running ?? null, rate: rate ?? null }
      if (limit) await noteUnused(store, queue, note)
      await store.limit({ queue }, limit)
      return { text: `${queue}: ${formatLimit(limit)}`, json: { queue, limit } }
    }),
  )
}

function readQueue([queue]: readonly unknown[]): string {
  assertQueue(queue)
  return queue
}

/** A name that is mistyped is kept like any other: it may be used later. */
async function noteUnused(store: Store, queue: string, note: (text: string) => void): Promise<void> {
  const [queues, workers] = await Promise.all([store.queues(), store.workers()])
  const isUsed =
    queues.some((row) => row.queue === queue) || workers.some((worker) => worker.queues.includes(queue))
  if (!isUsed && queue !== INTERNAL_QUEUE) note(`note: no jobs or workers use queue ${queue}`)
}

/** Longer than a trend looks back. */
const TREND_MS = 10 * 60_000

const TITLES = [
  ...[
    'QUEUE',
    '>WAITING',
    '>SCHEDULED',
    '>RUNNING',
    '>SUSPENDED',
    '>BLOCKED',
    '>THROTTLED',
    'OLDEST',
    '>EMPTY IN',
    'STATE',
  ],
]

interface Row extends QueueOverview {
  readonly drainMs: number | null
  /** Null: nothing waits, or nothing tells. */
  readonly isShrinking: boolean | null
  readonly state: 'stalled' | 'late' | null
  readonly why: string | null
}

function toRow(row: Row, now: Date): string[] {
  const numbers = [row.waiting, row.scheduled, row.running, row.suspended, row.blocked, row.throttled]
  const until = row.paused?.until ? `, ends ${fromNow(row.paused.until, now)}` : ''
  const paused = row.paused && styled('yellow', `paused by ${plain(row.paused.by ?? 'unknown')}${until}`)
  return [
    plain(row.queue),
    ...numbers.map((number) => number.toLocaleString('en-US')),
    fromNow(row.oldestWaiting, now),
    row.drainMs !== null ? formatDuration(row.drainMs) : row.isShrinking === false ? 'not shrinking' : '',
    [
      paused,
      row.state && styled('red', [row.state, row.why].filter(Boolean).join(': ')),
      row.limit && formatLimit(row.limit),
    ]
      .filter(Boolean)
      .join(', '),
  ]
}

function formatLimit(limit: Limit | null): string {
  if (limit?.maxRunning === 0) return 'limited to 0'
  const running = limit?.maxRunning && `at most ${limit.maxRunning} at once`
  const rate =
    limit?.rate && `at most ${count(limit.rate.count, 'start')} per ${formatInterval(limit.rate.intervalMs)}`
  return [running, rate].filter(Boolean).join(', ') || 'no limit'
}

const INTERVALS: Readonly<Record<number, string>> = {
  1000: 'second',
  60000: 'minute',
  3600000: 'hour',
  86400000: 'day',
}

const formatInterval = (ms: number) => INTERVALS[ms] ?? formatDuration(ms)
