import type { JobError } from '@oncue/core'
import type { JobEvent } from '@oncue/core/wire'
import { plain } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'
import { errorInWords } from './format.ts'

const RUNS: Readonly<Record<string, string>> = {
  run_failed: 'failed',
  run_crashed: 'crashed',
  run_snoozed: 'snoozed',
  run_interrupted: 'was interrupted',
  run_suspended: 'was suspended',
}

/** What people do to a job. */
const DEEDS: Readonly<Record<string, string>> = {
  requeued: 'requeued',
  payload_changed: 'requeued with another payload',
  run_now: 'set to run now',
  cancelled: 'cancelled',
  cancel_requested: 'asked to stop',
}

/** What an agent does. */
const AGENTS: Readonly<Record<string, (name: string, data: EventData) => string>> = {
  plan_generated: (name, { plan }) => `plan ${name}${colonValue(plan)}`,
  node_started: (name) => `node ${name} started`,
  node_finished: (name, data) => `node ${name} ${endOf('finished', data)}`,
  tool_called: (name, { args }) =>
    `tool ${name} called${args === undefined ? '' : ` with ${JSON.stringify(args)}`}`,
  tool_returned: (name, data) => `tool ${name} ${endOf('returned', data)}`,
}

const endOf = (how: string, { error, result }: EventData) =>
  error ? `failed: ${errorInWords(error)}` : `${how}${colonValue(result)}`

const colonValue = (value: unknown) => (value === undefined ? '' : `: ${JSON.stringify(value)}`)

/** Every field may be missing: workers of other versions write events too. */
interface EventData {
  readonly run?: number
  readonly worker?: string | null
  readonly startedAt?: string
  readonly delayMs?: number
  readonly error?: Partial<JobError>
  readonly by?: string | null
  readonly paths?: readonly string[]
  readonly jobId?: string
  readonly name?: string
  readonly status?: string
  readonly level?: string
  readonly message?: string
  readonly fields?: unknown
  readonly args?: unknown
  readonly plan?: unknown
  readonly result?: unknown
  readonly value?: unknown
  readonly from?: string | null
  readonly attempt?: number
}

const MAX_WIDTH = 160

/** "run 1 failed after 640ms on …9d390f6f1d1f: GatewayTimeoutError: no answer", in one line. */
export function describeEvent(event: JobEvent): string {
  return plain(sentenceOf(event), MAX_WIDTH)
}

function sentenceOf({ type, data, created }: JobEvent): string {
  const known = (typeof data === 'object' && data !== null ? data : {}) as EventData
  if (type === 'run_started' && known.run !== undefined) return `run ${known.run} started`
  if (type === 'progressed') return `progress${colonValue(known.value)}`
  const how = RUNS[type]
  if (how !== undefined && known.run !== undefined) return runOf(known, how, created)
  const deed = DEEDS[type]
  if (deed !== undefined) return `${deed}${fieldsOf(known)}${known.by ? ` by ${known.by}` : ''}`
  if (type === 'steps_forgotten')
    return `set to run again from ${known.from == null ? 'the start' : `step ${known.from}`}${known.by ? ` by ${known.by}` : ''}`
  if (type === 'replaced') return known.jobId ? `replaced by ${known.jobId}` : 'replaced'
  if (type === 'step_finished' && known.name) return `step ${known.name} finished`
  if (type === 'undone' && known.name) return `undo ${known.name} has run`
  if (type === 'step_retried' && known.name) return retried('step', known)
  if (type === 'undo_retried' && known.name) return retried('undo', known)
  if (type === 'undoing') return `undoing, then ${known.status ?? 'failed'}`
  const told = known.name === undefined ? undefined : AGENTS[type]
  if (told) return told(known.name ?? '', known)
  if (type === 'log' && known.message !== undefined)
    return [`${known.level ?? 'info'}: ${known.message}`, jsonOf(known.fields)].filter(Boolean).join(' ')
  return [type, jsonOf(data)].filter(Boolean).join(' ')
}

/** "undo refund failed, attempt 2: GatewayTimeoutError: no answer" */
function retried(what: 'step' | 'undo', { name, attempt, error }: EventData): string {
  const which = attempt === undefined ? '' : `, attempt ${attempt}`
  return `${what} ${name} failed${which}${error ? `: ${errorInWords(error)}` : ''}`
}

function runOf({ run, worker, startedAt, delayMs, error }: EventData, how: string, ended: Date): string {
  const ms = startedAt === undefined ? Number.NaN : ended.getTime() - new Date(startedAt).getTime()
  const after = Number.isNaN(ms) ? '' : ` after ${formatDuration(Math.max(0, ms))}`
  const where = worker ? ` on …${worker.slice(-12)}` : ''
  const until = how === 'snoozed' && delayMs !== undefined ? ` for ${formatDuration(delayMs)}` : ''
  const why = error ? `: ${errorInWords(error)}` : ''
  return `run ${run} ${how}${until}${after}${where}${why}`
}

const fieldsOf = ({ paths }: EventData) => (paths?.length ? ` (${paths.join(', ')})` : '')

const jsonOf = (value: unknown) => (value === null || value === undefined ? '' : JSON.stringify(value))
