import type { JobSummary } from '@oncue/core'
import type { FailureGroup, QueueOverview, WorkerRow } from '@oncue/db'
import { count, plain } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'
import { whoami } from './command.ts'
import { FAILURE_HEADS, failureCells } from './failures.ts'
import { cut, fromNow, styled, table } from './format.ts'
import { type Choice, HELP, isSame, START, type TopState } from './top-keys.ts'

export interface QueueLoad extends QueueOverview {
  /** Finished within the last minute. */
  readonly perMinute: number
  /** Runs that failed within the last minute, whether or not they are retried. */
  readonly failedPerMinute: number
}

export interface Snapshot {
  readonly now: Date
  /** Finished within the last minute. */
  readonly perMinute: number
  readonly runningTotal: number
  readonly queues: readonly QueueLoad[]
  readonly workers: readonly WorkerRow[]
  /** Workers that were lost in the last hour. */
  readonly lost: readonly WorkerRow[]
  /** Those that have run longest first. */
  readonly running: readonly JobSummary[]
  /** What is retried now or gave up in the last hour. */
  readonly failures: readonly FailureGroup[]
}

export interface Size {
  readonly width: number
  readonly height: number
}

export interface Look {
  /** Why it is not as new as it should be. */
  readonly problem?: string | undefined
  /** What was chosen by keys; null: nothing can be. */
  readonly state?: TopState | null
}

/** A page of it, no larger than the screen. */
export function render(snapshot: Snapshot, { width, height }: Size, look: Look = {}): string[] {
  const { problem, state = null } = look
  const fit = (lines: readonly string[]) => lines.slice(0, height).map((line) => cut(line, width))
  if (state?.isHelp)
    return fit([
      ...HELP,
      '',
      `Actions use this database login and are recorded as ${whoami()}.`,
      '',
      'any key: back',
    ])
  const { chosen = null, queue = null } = state ?? {}
  const parts = [
    queuesPart(snapshot, state),
    failuresPart(snapshot),
    ...(queue === null ? [workersPart(snapshot)] : []),
    runningPart(snapshot),
  ]
  const head = [headline(snapshot), problem ? styled('red', plain(problem)) : '']
  const foot = state ? [footOf(state, width)] : []
  const rooms = share(
    parts.map(({ rows }) => Math.max(1, rows.length)),
    height - head.length - foot.length - parts.length * FRAME,
  )
  const body = parts.flatMap((part, n) => draw(part, rooms[n] ?? 0, state !== null, chosen))
  return [...fit([...head, ...body]).slice(0, height - foot.length), ...fit(foot)]
}

/** A question, or how the last action went, or the keys: as many as fit. */
function footOf({ question, message, sort, queue }: TopState, width: number): string {
  if (question) return styled('bold', `${plain(question.text)} y/n`)
  if (message !== null) return styled('yellow', plain(message))
  const keys = ['q quit', '? help', 'up/down choose', 'enter queue', 'p pause', 'r retry', `s sort: ${sort}`]
  const all = queue === null ? keys : ['esc all queues', ...keys]
  const shown = all.filter((_, n) => all.slice(0, n + 1).join('  ').length <= width)
  return styled('dim', shown.join('  '))
}

interface Part {
  readonly title: string
  readonly heads: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** What each row is about, where rows can be chosen. */
  readonly choices?: readonly Choice[]
}

/** Title, heads, and an empty line after. */
const FRAME = 3

/** A part that has no room for all of its rows shows those around the chosen one. */
function draw(part: Part, room: number, canChoose: boolean, chosen: Choice | null): string[] {
  const { title, heads, rows, choices = [] } = part
  const at = choices.findIndex((choice) => isSame(choice, chosen))
  const fits = rows.length > room ? Math.max(0, room - 1) : rows.length
  const from = Math.max(0, Math.min(at - fits + 1, rows.length - fits))
  const shown = rows.slice(from, from + fits)
  const rest = rows.length - shown.length
  const mark = (line: string, n: number) => `${n === at - from + 1 && at >= 0 ? '>' : ' '} ${line}`
  const drawn = rows.length ? table(heads, shown).split('\n') : [styled('dim', 'none')]
  const lines = canChoose ? drawn.map(mark) : drawn
  if (rest > 0) lines.push(styled('dim', `… and ${rest} more`))
  return [styled('bold', title), ...lines, '']
}

/** Who asks for little gets it; what is left is shared by those who ask for more. */
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

function queuesPart(snapshot: Snapshot, state: TopState | null): Part {
  const { now } = snapshot
  const queues = queuesOf(snapshot, state ?? START)
  // Where no job is, the column is left out: screens are narrow.
  const hasSuspended = snapshot.queues.some(({ suspended }) => suspended > 0)
  return {
    title: state?.queue != null ? `Queue ${plain(state.queue)}` : 'Queues',
    heads: [
      'QUEUE',
      '>WAITING',
      '>OLDEST',
      '>RUNNING',
      '>SCHEDULED',
      ...(hasSuspended ? ['>SUSPENDED'] : []),
      '>DONE/MIN',
      '>FAILED/MIN',
      '',
    ],
    rows: queues.map((row) => [
      plain(row.queue, 32),
      number(row.waiting),
      row.oldestWaiting ? lateness(now.getTime() - row.oldestWaiting.getTime()) : '',
      number(row.running),
      number(row.scheduled),
      ...(hasSuspended ? [number(row.suspended)] : []),
      number(row.perMinute),
      row.failedPerMinute === 0 ? styled('dim', '0') : styled('red', number(row.failedPerMinute)),
      stateOf(row),
    ]),
    choices: queues.map(({ queue }) => ({ kind: 'queue', queue })),
  }
}

const waited = ({ oldestWaiting }: QueueLoad) => oldestWaiting?.getTime() ?? Number.POSITIVE_INFINITY

const ORDERS: Readonly<Record<TopState['sort'], (a: QueueLoad, b: QueueLoad) => number>> = {
  busiest: (a, b) => b.waiting + b.running - (a.waiting + a.running),
  oldest: (a, b) => waited(a) - waited(b) || 0,
  failing: (a, b) => b.failedPerMinute - a.failedPerMinute,
  name: (a, b) => (a.queue < b.queue ? -1 : 1),
}

/** Those that are shown, in their order. */
export function queuesOf({ queues }: Snapshot, { sort, queue }: TopState): readonly QueueLoad[] {
  return queues.filter((each) => queue === null || each.queue === queue).toSorted(ORDERS[sort])
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

/** "lost 3m ago: 2 released, 1 failed" */
export function formatEnd({ ended }: Pick<WorkerRow, 'ended'>, now: Date): string {
  if (ended === null) return ''
  const { how, at, released, failed } = ended
  const counts = [released > 0 && `${released} released`, failed > 0 && `${failed} failed`]
  const held = counts.filter(Boolean).join(', ')
  const text = `${how} ${fromNow(at, now)}${held && `: ${held}`}`
  return how === 'lost' ? styled('red', text) : styled('dim', text)
}

function workersPart({ workers, lost, now }: Snapshot): Part {
  return {
    title: 'Workers',
    heads: ['HOST', '>PID', '>BUSY', 'QUEUES', '>UP', '>SEEN', ''],
    rows: [...workers, ...lost].map((worker) => [
      plain(worker.host, 24),
      String(worker.pid),
      `${worker.running}/${worker.concurrency}`,
      plain(worker.queues.join(','), 32),
      formatDuration(Math.max(0, now.getTime() - worker.startedAt.getTime())),
      fromNow(worker.lastBeat, now),
      worker.missingSince ? styled('red', 'missing') : formatEnd(worker, now),
    ]),
  }
}

function runningPart({ running, now }: Snapshot): Part {
  return {
    title: 'Running longest',
    heads: ['ID', 'TOPIC', 'QUEUE', '>FOR', '>RUN', 'PROGRESS'],
    rows: running.map((job) => [
      `…${job.id.slice(-8)}`,
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
    choices: failures.map(({ fingerprint }) => ({ kind: 'failure', fingerprint })),
  }
}
