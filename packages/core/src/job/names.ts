import { z } from 'zod'
import { OncueError } from '../errors.ts'
import { LIMITS } from './limits.ts'
import { quote } from './text.ts'

const NAME = '[A-Za-z0-9_][A-Za-z0-9_./-]*'
const QUEUE = new RegExp(`^${NAME}$`)
const TOPIC = new RegExp(`^(?:${NAME}:)?${NAME}$`)

type NameKind = 'topic' | 'queue'

const RULES = {
  topic: { pattern: TOPIC, maxLength: LIMITS.topicLength, code: 'INVALID_TOPIC' },
  queue: { pattern: QUEUE, maxLength: LIMITS.queueLength, code: 'INVALID_QUEUE' },
} as const

/** Which rule a refused name broke; called only after the pattern or the length did not match. */
function brokenRule(name: unknown, kind: NameKind): string {
  if (typeof name !== 'string') return 'must be a string'
  const { maxLength } = RULES[kind]
  if (name === '') return 'is empty'
  if (name.length > maxLength) return `has ${name.length} characters, at most ${maxLength} are allowed`
  const strange = /[^A-Za-z0-9_./:-]/u.exec(name)
  if (strange) return `contains ${quote(strange[0])}; allowed are letters, digits and _ . - /`
  const parts = name.split(':')
  if (kind === 'queue' && parts.length > 1) return 'contains ":", which is allowed only in topics'
  if (parts.length > 2) return 'contains more than one ":"'
  if (parts.includes('')) return 'has an empty part before or after ":"'
  return 'has a part that does not start with a letter, a digit or _'
}

function assertName(name: unknown, kind: NameKind): asserts name is string {
  const { pattern, maxLength, code } = RULES[kind]
  if (typeof name === 'string' && name.length <= maxLength && pattern.test(name)) return
  throw new OncueError(code, `${kind} ${quote(name)} ${brokenRule(name, kind)}`)
}

export function assertTopic(topic: unknown): asserts topic is string {
  assertName(topic, 'topic')
}

export function assertQueue(queue: unknown): asserts queue is string {
  assertName(queue, 'queue')
}

/** The queue of Oncue's own jobs, which the API runs. Health and alerts leave it out: users do not wait for it. */
export const INTERNAL_QUEUE = 'oncue'

/** Topics that begin like this are Oncue's own. */
export const INTERNAL_TOPIC_PREFIX = 'oncue:'

export function assertOtherTopic(topic: string): void {
  if (!topic.startsWith(INTERNAL_TOPIC_PREFIX)) return
  throw new OncueError('TOPIC_NOT_ALLOWED', `The topic ${topic} is reserved for Oncue`, {
    hint: "Use another name: topics with this prefix are Oncue's own.",
  })
}

/** Users would not see a job of theirs there: health, alerts and bulk operations leave this queue out. */
export function assertOtherQueue(queue: string, at = 'queue'): void {
  if (queue !== INTERNAL_QUEUE) return
  throw new OncueError('INVALID_QUEUE', `${at}: "${INTERNAL_QUEUE}" is reserved for Oncue's own jobs`, {
    hint: 'Use another name.',
  })
}

function nameSchema(kind: NameKind) {
  const error = ({ input }: { readonly input?: unknown }) => brokenRule(input, kind)
  return z.string({ error }).max(RULES[kind].maxLength, { error }).regex(RULES[kind].pattern, { error })
}

export const topicSchema = nameSchema('topic').describe('the kind of job, optionally with an "app:" prefix')
export const queueSchema = nameSchema('queue').describe('where the job waits')

const SHOWN_TOPICS = 20

/** `why` follows the topic; `known` are the valid ones. */
export function unknownTopic(
  topic: unknown,
  why: string,
  known: readonly string[],
  hint?: string,
): OncueError {
  const there = known.length === 0 ? 'there are none' : `there are ${listed(known)}`
  return new OncueError('UNKNOWN_TOPIC', `${quote(topic)} ${why}: ${there}`, { hint })
}

/** A list of topics for people, limited in length. */
export function listed(topics: readonly string[]): string {
  const shown = topics.slice(0, SHOWN_TOPICS).join(', ')
  return topics.length > SHOWN_TOPICS ? `${shown} and ${topics.length - SHOWN_TOPICS} more` : shown
}
