import { OncueError } from '@oncue/core'
import { assertQueue, INTERNAL_QUEUE } from '@oncue/core/internal'
import { type Limit, type QueueOverview, timeToDrain } from '@oncue/db'
import { addExamples, count, plain, toDuration, toWhole } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'
import type { Command } from 'commander'
import { toRate } from './arguments.ts'
import { implement, whoami, withStore } from './command.ts'
import { fromNow, styled, table } from './format.ts'

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
      const [queues, now] = await Promise.all([store.queues(), store.now()])
      const samples = await store.gauges.list({ from: new Date(now.getTime() - TREND_MS), to: now })
      const rows = queues.map((row) => ({
        ...row,
        drainMs: row.paused ? null : timeToDrain(row, samples, now),
      }))
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
      .argument('<queue>'),
    ['mail', 'mail --json'],
    withStore('reading', async (store, { args }) => {
      const found = await store.explainQueue(readQueue(args))
      const { waiting, reasons, drain } = found
      const lines = [...reasons.map(({ text }) => text), ...(drain ? [drain.text] : [])]
      const wait = `${count(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'}`
      const text = waiting === 0 ? 'nothing waits' : [wait, ...lines.map((line) => plain(line))].join('\n')
      return { text, json: found }
    }),
  )

  implement<{ readonly for?: number }>(
    queues
      .command('pause')
      .description('pause a queue: running jobs continue, no new ones start')
      .argument('<queue>')
      .option('--for <time>', 'end the pause by itself: 30m, 2h', toDuration),
    ['imports', 'imports --for 30m'],
    withStore('pause', async (store, { args, options }) => {
      const queue = readQueue(args)
      await store.pause(queue, whoami(), options.for)
      const end = options.for === undefined ? '' : ` for ${formatDuration(options.for)}`
      const alerts = queue === INTERNAL_QUEUE ? '; no alerts are sent while it is paused' : ''
      const text = `${queue} is paused${end}: running jobs continue, no new ones start${alerts}`
      return { text, json: { queue, paused: true, forMs: options.for ?? null } }
    }),
  )

  implement<object>(
    queues.command('resume').description('resume a queue').argument('<queue>'),
    ['imports'],
    withStore('resume', async (store, { args }) => {
      const queue = readQueue(args)
      await store.resume(queue, whoami())
      return { text: `${queue} is resumed`, json: { queue, paused: false } }
    }),
  )

  implement<LimitOptions>(
    queues
      .command('limit')
      .description('limit a queue across all workers, effective immediately')
      .argument('<queue>')
      .option('--running <number>', 'max running at once', toWhole(1, 32_767))
      .option('--rate <count/time>', 'max starts per interval: 5/s, 100/min, 100/10s', toRate)
      .option('--off', 'remove the limit'),
    ['mail --running 5', 'mail --rate 100/min', 'mail --off'],
    withStore('limiting', async (store, { args, options: { running, rate, off } }) => {
      const queue = readQueue(args)
      if ((running ?? rate) === undefined ? !off : off) {
        throw new OncueError('INVALID_INPUT', 'set a limit with --running or --rate, or remove it with --off')
      }
      const limit: Limit | null = off ? null : { maxRunning: running ?? null, rate: rate ?? null }
      await store.limit({ queue }, limit)
      return { text: `${queue}: ${formatLimit(limit)}`, json: { queue, limit } }
    }),
  )
}

function readQueue([queue]: readonly unknown[]): string {
  assertQueue(queue)
  return queue
}

/** Longer than a trend looks back. */
const TREND_MS = 10 * 60_000

const TITLES = [
  ...['QUEUE', '>WAITING', '>SCHEDULED', '>RUNNING', '>BLOCKED', '>HELD', 'OLDEST', '>EMPTY IN', 'STATE'],
]

function toRow(row: QueueOverview & { readonly drainMs: number | null }, now: Date): string[] {
  const numbers = [row.waiting, row.scheduled, row.running, row.blocked, row.throttled]
  const until = row.paused?.until ? `, ends ${fromNow(row.paused.until, now)}` : ''
  const paused = row.paused && styled('yellow', `paused by ${plain(row.paused.by ?? 'unknown')}${until}`)
  return [
    plain(row.queue),
    ...numbers.map((number) => number.toLocaleString('en-US')),
    fromNow(row.oldestWaiting, now),
    row.drainMs === null ? '' : formatDuration(row.drainMs),
    [paused, row.limit && formatLimit(row.limit)].filter(Boolean).join(', '),
  ]
}

function formatLimit(limit: Limit | null): string {
  if (limit?.maxRunning === 0) return 'limited to 0'
  const running = limit?.maxRunning && `at most ${limit.maxRunning} at once`
  const rate =
    limit?.rate && `at most ${limit.rate.count} starts per ${formatDuration(limit.rate.intervalMs)}`
  return [running, rate].filter(Boolean).join(', ') || 'no limit'
}
