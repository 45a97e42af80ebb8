import type { FailureGroup, QueueOverview } from '@oncue/db'
import { count, plain } from '@oncue/db/cli'

/** What people see and choose in `oncue top`, and what a key makes of it. Pure: `top.ts` does what is asked for. */

const SORTS = ['busiest', 'oldest', 'failing', 'name'] as const

/** A row, by what it is about: it stays chosen wherever it moves. */
export type Choice =
  | { readonly kind: 'queue'; readonly queue: string }
  | { readonly kind: 'failure'; readonly fingerprint: string }

export type Action =
  | { readonly kind: 'pause' | 'resume'; readonly queue: string }
  | { readonly kind: 'retry'; readonly fingerprint: string; readonly queue: string | null }

export interface TopState {
  readonly sort: (typeof SORTS)[number]
  readonly chosen: Choice | null
  /** The only queue that is shown; null: all. */
  readonly queue: string | null
  readonly isHelp: boolean
  /** Asked before something is done. */
  readonly question: { readonly text: string; readonly action: Action } | null
  /** How the last action went. */
  readonly message: string | null
}

export const START: TopState = {
  sort: 'busiest',
  chosen: null,
  queue: null,
  isHelp: false,
  question: null,
  message: null,
}

/** What a key asks for beyond another look. `prepare`: count what an action would touch, then ask. */
export type Effect =
  | { readonly kind: 'quit' }
  | { readonly kind: 'look' }
  | { readonly kind: 'prepare' | 'act'; readonly action: Action }

export interface Pressed {
  readonly state: TopState
  readonly effect?: Effect
}

/** What is on the screen, in its order. */
export interface Shown {
  readonly queues: readonly Pick<QueueOverview, 'queue' | 'paused'>[]
  readonly failures: readonly Pick<FailureGroup, 'fingerprint'>[]
}

export const HELP = [
  'Keys',
  '  up, down, j, k   choose a queue or an error',
  '  enter            show only this queue',
  '  esc              show all queues again, or quit',
  '  s                sort queues: busiest, oldest, failing, name',
  '  p                pause or resume the chosen queue; asks first',
  '  r                retry the jobs of the chosen error; asks first',
  '  ?                this help',
  '  q, ctrl-c        quit',
]

const UP = new Set(['k', '\x1b[A', '\x1bOA'])
const DOWN = new Set(['j', '\x1b[B', '\x1bOB'])
const ESC = '\x1b'
const QUIT = new Set(['q', 'Q', '\x03', '\x04'])

export function press(state: TopState, key: string, shown: Shown): Pressed {
  if (key === '\x03' || key === '\x04') return { state, effect: { kind: 'quit' } }
  const { question } = state
  if (question) {
    const answered = { ...state, question: null }
    if (key === 'y' || key === 'Y')
      return { state: answered, effect: { kind: 'act', action: question.action } }
    return { state: { ...answered, message: 'nothing was changed' } }
  }
  if (state.isHelp) return { state: { ...state, isHelp: false } }
  const quiet = { ...state, message: null }
  if (QUIT.has(key)) return { state, effect: { kind: 'quit' } }
  if (UP.has(key)) return { state: { ...quiet, chosen: beside(state.chosen, shown, -1) } }
  if (DOWN.has(key)) return { state: { ...quiet, chosen: beside(state.chosen, shown, 1) } }
  switch (key) {
    case ESC:
      if (state.queue === null) return { state, effect: { kind: 'quit' } }
      return { state: { ...quiet, queue: null }, effect: { kind: 'look' } }
    case '?':
    case 'h':
      return { state: { ...quiet, isHelp: true } }
    case 's':
      return { state: { ...quiet, sort: SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? 'busiest' } }
    case '\r':
    case '\n':
      if (state.chosen?.kind !== 'queue') return { state: { ...quiet, message: CHOOSE_QUEUE } }
      return { state: { ...quiet, queue: state.chosen.queue }, effect: { kind: 'look' } }
    case 'p':
      return { state: askToPause(quiet, shown) }
    case 'r': {
      if (state.chosen?.kind !== 'failure') return { state: { ...quiet, message: CHOOSE_ERROR } }
      const { fingerprint } = state.chosen
      const action: Action = { kind: 'retry', fingerprint, queue: state.queue }
      return { state: { ...quiet, message: 'counting …' }, effect: { kind: 'prepare', action } }
    }
    default:
      return { state: quiet }
  }
}

const CHOOSE_QUEUE = 'choose a queue first: up, down'
const CHOOSE_ERROR = 'choose an error first: up, down'

function askToPause(state: TopState, { queues }: Shown): TopState {
  const { chosen } = state
  const name = state.queue ?? (chosen?.kind === 'queue' ? chosen.queue : null)
  const queue = queues.find((each) => each.queue === name)
  if (!queue) return { ...state, message: CHOOSE_QUEUE }
  const kind = queue.paused ? 'resume' : 'pause'
  const text = queue.paused
    ? `Resume ${plain(queue.queue)}?`
    : `Pause ${plain(queue.queue)}? Running jobs finish; no new ones start.`
  return { ...state, question: { text, action: { kind, queue: queue.queue } } }
}

export interface Counted {
  readonly total: number
  readonly totalIsExact: boolean
}

/** With what it would touch: jobs that wait for their next try, and those that gave up. */
export function askToRetry(state: TopState, action: Action, retrying: Counted, failed: Counted): TopState {
  const parts = [
    retrying.total > 0 && `run ${many(retrying)} now instead of at the next try`,
    failed.total > 0 && `requeue ${many(failed)} that gave up`,
  ].filter((part) => part !== false)
  if (parts.length === 0) return { ...state, message: 'no job with this error can be run now or requeued' }
  const text = `${parts.join(', and ')}?`
  return { ...state, message: null, question: { text: text.charAt(0).toUpperCase() + text.slice(1), action } }
}

const many = ({ total, totalIsExact }: Counted) => `${totalIsExact ? '' : 'at least '}${count(total, 'job')}`

/** Queues come before errors. What was chosen and is gone is the first again. */
function beside(chosen: Choice | null, { queues, failures }: Shown, step: 1 | -1): Choice | null {
  const rows: Choice[] = [
    ...queues.map(({ queue }) => ({ kind: 'queue', queue }) as const),
    ...failures.map(({ fingerprint }) => ({ kind: 'failure', fingerprint }) as const),
  ]
  const at = rows.findIndex((row) => isSame(row, chosen))
  if (at < 0) return rows[step > 0 ? 0 : rows.length - 1] ?? null
  return rows[Math.min(rows.length - 1, Math.max(0, at + step))] ?? null
}

export function isSame(a: Choice, b: Choice | null): boolean {
  if (a.kind === 'queue') return b?.kind === 'queue' && b.queue === a.queue
  return b?.kind === 'failure' && b.fingerprint === a.fingerprint
}
