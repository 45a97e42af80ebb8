import type { JobSummary } from '@oncue/core'
import type { FailureGroup, QueueOverview, WorkerRow } from '@oncue/db'
import { count, plain } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'
import { FAILURE_HEADS, failureCells } from './failures.ts'
import { cut, fromNow, styled, table } from './format.ts'

export interface Snapshot {
  readonly now: Date
  /** Finished within the last minute. */
  readonly perMinute: number
  readonly runningTotal: number
  readonly queues: readonly (QueueOverview & { readonly perMinute: number })[]
  readonly workers: readonly WorkerRow[]
  /** The longest-running first. */
  readonly running: readonly JobSummary[]
  /** Errors of jobs that are retried now or gave up in the last hour. */
  readonly failures: readonly FailureGroup[]
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** A frame no larger than the screen. `problem`: why it is not up to date. */
export function render(snapshot: Snapshot, { width, height }: Size, problem?: string): string[] {
  const parts = [queuesPart, workersPart, runningPart, failuresPart].map((part) => part(snapshot))
  const head = [headline(snapshot), problem ? styled('red', plain(problem)) : '']
  const rooms = share(
    parts.map(({ rows }) => Math.max(1, rows.length)),
    height - head.length - parts.length * FRAME,
  )
  const body = parts.flatMap((part, n) => draw(part, rooms[n] ?? 0))
  return [...head, ...body].slice(0, height).map((line) => cut(line, width))
}

interface Part {
  readonly title: string
  readonly heads: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Title, column heads, and an empty line after. */
const FRAME = 3

function draw({ title, heads, rows }: Part, room: number): string[] {
  const shown = rows.length > room ? rows.slice(0, Math.max(0, room - 1)) : rows
  const rest = rows.length - shown.length
  const lines = rows.length ? table(heads, shown).split('\n') : [styled('dim', 'none')]
  if (rest > 0) lines.push(styled('dim', `… and ${rest} more`))
  return [styled('bold', title), ...lines, '']
}

/** Sections that need little get it; the rest is shared by those that need more. */
export function share(wanted: readonly number[], room: number): number[] {
  const given = wanted.map(() => 0)
  let left = Math.max(0, room)
  const hungry = () => wanted.flatMap((want, n) => ((given[n] ?? 0) < want ? [n] : []))
  for (let open = hungry(); open.length > 0 && left > 0; open = hungry()) {
    const each = Math.max(1, Math.trunc(left / open.length))
    for (const n of open) {
      const more = Math.min(each, (wanted[n] ?? 0) - (given[n] ?? 0), left)
      given[n] = (given[n] ?? 0) + more
      left -= more
    }
  }
  return given
}

function headline({ now, workers, perMinute, runningTotal }: Snapshot): string {
  const slots = workers.reduce((sum, { concurrency }) => sum + concurrency, 0)
  const facts = [
    `${now.toISOString().slice(11, 19)}Z`,
    `${count(workers.length, 'worker')}, ${count(slots, 'slot')}`,
    `${runningTotal.toLocaleString('en-US')} running`,
    `${count(perMinute, 'job')} per minute`,
  ]
  return `${styled(['bold', 'cyan'], 'Oncue')}  ${facts.join(styled('dim', '  ·  '))}`
}

const number = (value: number) => (value === 0 ? styled('dim', '0') : value.toLocaleString('en-US'))

function queuesPart({ queues, now }: Snapshot): Part {
  return {
    title: 'Queues',
    heads: ['QUEUE', '>WAITING', '>OLDEST', '>RUNNING', '>SCHEDULED', '>PER MIN', ''],
    rows: queues.map((row) => [
      plain(row.queue, 32),
      number(row.waiting),
      row.oldestWaiting ? lateness(now.getTime() - row.oldestWaiting.getTime()) : '',
      number(row.running),
      number(row.scheduled),
      number(row.perMinute),
      stateOf(row),
    ]),
  }
}

function stateOf({ paused, limit }: QueueOverview): string {
  if (paused) return styled('yellow', 'paused')
  return limit?.maxRunning === 0 ? styled('yellow', 'limited to 0') : ''
}

/** How long a job may wait before it is shown as late. */
function lateness(ms: number): string {
  const text = formatDuration(Math.max(0, ms))
  if (ms < 10_000) return text
  return styled(ms < 60_000 ? 'yellow' : 'red', text)
}

function workersPart({ workers, now }: Snapshot): Part {
  return {
    title: 'Workers',
    heads: ['HOST', '>PID', '>BUSY', 'QUEUES', '>UP', '>SEEN', ''],
    rows: workers.map((worker) => [
      plain(worker.host, 24),
      String(worker.pid),
      `${worker.running}/${worker.concurrency}`,
      plain(worker.queues.join(','), 32),
      formatDuration(Math.max(0, now.getTime() - worker.startedAt.getTime())),
      fromNow(worker.lastBeat, now),
      worker.missingSince ? styled('red', 'missing') : '',
    ]),
  }
}

function runningPart({ running, now }: Snapshot): Part {
  return {
    title: 'Running longest',
    heads: ['ID', 'TOPIC', 'QUEUE', '>FOR', '>TRY', 'PROGRESS'],
    rows: running.map((job) => [
      job.id,
      plain(job.topic, 32),
      plain(job.queue, 20),
      job.startedAt ? formatDuration(Math.max(0, now.getTime() - job.startedAt.getTime())) : 'prefetched',
      String(job.retries + job.crashes + 1),
      job.progress === null ? '' : plain(JSON.stringify(job.progress), 48),
    ]),
  }
}

function failuresPart({ failures, now }: Snapshot): Part {
  return {
    title: 'Failures: retrying now, gave up in the last hour',
    heads: FAILURE_HEADS,
    rows: failures.map((group) => failureCells(group, now)),
  }
}
