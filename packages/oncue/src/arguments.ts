import { JOB_STATUSES, type JobStatus, OncueError, PENDING_KINDS } from '@oncue/core'
import {
  type FilterStatus,
  filterStatusSchema,
  isIdSuffix,
  PAST_TIME_HINT,
  parseMoment,
  parsePastTime,
  wantedStates,
} from '@oncue/core/wire'
import type { JobFilter } from '@oncue/db'
import { readDuration, refuse } from '@oncue/db/cli'
import { parseDuration, systemRuntime } from '@oncue/runtime'
import type { Command } from 'commander'

/** Parsers of arguments. Commander reports what they throw as wrong usage. */

export function toJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    return refuse(`It must be JSON: ${(error as Error).message}`)
  }
}

/** A time, or how long ago. */
export function toPast(text: string): Date {
  const now = systemRuntime.now()
  const ms = readDuration(text)
  if (ms !== null) return new Date(now - ms)
  return parsePastTime(text, new Date(now)) ?? refuse(PAST_TIME_HINT)
}

export function toMoment(text: string): Date {
  return parseMoment(text) ?? refuse('Use a time, such as 2026-01-31T09:00:00Z.')
}

function toIdSuffix(text: string): string {
  return isIdSuffix(text) ? text : refuse('Use the last 4 to 32 hexadecimal digits of an id.')
}

/** `failed`, or `failed,cancelled`. */
function toStatuses(text: string): FilterStatus[] {
  const parsed = filterStatusSchema.array().safeParse(text.split(','))
  if (parsed.success) return parsed.data
  return refuse(`Use one of ${filterStatusSchema.options.join(', ')}, or several with commas.`)
}

export type Meta = Record<string, string | number | boolean>

/** `agent_id=7`, repeatable. A value that is a JSON number, boolean or quoted text is parsed as such. */
export function toMeta(text: string, before: Meta = {}): Meta {
  const at = text.indexOf('=')
  if (at < 1) return refuse('Use name=value.')
  const value = text.slice(at + 1)
  const isTyped = /^(true|false|-?\d+(\.\d+)?|"(?:[^"\\]|\\.)*")$/.test(value)
  return { ...before, [text.slice(0, at)]: isTyped ? (toJson(value) as Meta[string]) : value }
}

/** Words that people use besides the units of a duration. */
const RATE_UNITS: Readonly<Record<string, string>> = { sec: 's', min: 'm', hour: 'h', day: 'd' }

/** `5/s`, `100/min`, `100/10s`. The unit is never assumed: 5 a second and 5 a minute are both common. */
export function toRate(text: string): { count: number; intervalMs: number } {
  const [, count, times = '1', unit = ''] =
    /^(\d+)\s*\/\s*(\d+(?:\.\d+)?)?\s*([a-z]+)$/.exec(text.trim()) ?? []
  const intervalMs = parseDuration(times + (RATE_UNITS[unit] ?? unit))
  if (count === undefined || intervalMs === null)
    return refuse('A rate needs its unit: 5/s, 100/min or 100/10s.')
  return { count: Number(count), intervalMs }
}

export interface FilterOptions {
  readonly status?: FilterStatus[]
  readonly queue?: string
  readonly topic?: string
  readonly meta?: Meta
  readonly fingerprint?: string
  readonly since?: Date
  readonly until?: Date
  readonly idPrefix?: string
  readonly idSuffix?: string
  readonly text?: string
  readonly errorText?: string
}

/** `statuses`: those for which the command does something. */
export function addFilters(
  command: Command,
  statuses: readonly (JobStatus | 'suspended')[] = EVERY_STATUS,
): Command {
  return command
    .option('--status <status>', `${choice.format(statuses.map(withKinds))}; several with commas`, toStatuses)
    .option('--queue <queue>', 'of this queue')
    .option('--topic <topic>', 'of this topic')
    .option('--meta <name=value>', 'with this meta value; repeat to require several', toMeta)
    .option('--fingerprint <hash>', 'that failed with this fingerprint')
    .option('--since <time>', 'created since: 2h, 7d, or a time', toPast)
    .option('--until <time>', 'created before: 2h, 7d, or a time', toPast)
    .option('--id-prefix <text>', 'whose id begins with this')
    .option('--id-suffix <text>', 'whose id ends with this: 4 digits or more', toIdSuffix)
    .option('--text <text>', 'with this in its payload; needs --since')
    .option('--error-text <text>', 'that failed or are retried, with this in the error')
}

/** What a job can be listed by, beside the kinds of pending. */
export const EVERY_STATUS = [...JOB_STATUSES, 'suspended'] as const

const withKinds = (status: JobStatus | 'suspended') =>
  status === 'pending' ? `pending (or ${PENDING_KINDS.join(', ')})` : status

/** `pending, failed or cancelled`. */
const choice = new Intl.ListFormat('en-GB', { type: 'disjunction' })

export function toFilter(options: FilterOptions): JobFilter {
  if (options.text !== undefined && !options.since)
    throw new OncueError('INVALID_INPUT', '--text needs --since: it reads every payload since then')
  return {
    status: options.status,
    queue: options.queue,
    topic: options.topic,
    meta: options.meta,
    fingerprint: options.fingerprint,
    createdFrom: options.since,
    createdTo: options.until,
    idPrefix: options.idPrefix,
    idSuffix: options.idSuffix,
    payloadText: options.text,
    errorText: options.errorText,
  }
}

/** A filter as command-line options, to be typed again. */
export function toOptions({ meta, createdFrom, createdTo, ...texts }: JobFilter): string {
  const status = wantedStates(texts)?.join()
  const named = {
    ...{ status, queue: texts.queue, topic: texts.topic, fingerprint: texts.fingerprint },
    ...{ since: createdFrom?.toISOString(), until: createdTo?.toISOString() },
    ...{ 'id-prefix': texts.idPrefix, 'id-suffix': texts.idSuffix },
    ...{ text: texts.payloadText, 'error-text': texts.errorText },
  }
  const metas = Object.entries(meta ?? {}).map(([key, value]) => ['meta', `${key}=${JSON.stringify(value)}`])
  return [...Object.entries(named), ...metas]
    .flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${shellWord(value)}`]))
    .join(' ')
}

function shellWord(text: string): string {
  return /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
