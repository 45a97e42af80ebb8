import { OncueError } from '../errors.ts'
import { isJobId } from '../job/id.ts'
import { JOB_STATUSES, PENDING_KINDS } from '../job/states.ts'
import type { FilterStatus, JobFilter } from './jobs.ts'
import { PAST_TIME_HINT, parsePastTime } from './time-text.ts'

/** One reading of a search: its filter, and a description for the person who searches. */
export interface SearchReading {
  readonly filter: JobFilter
  /** `id ends with 1a2b3c4d`, `payload contains “u_1” (last 24 hours)`. */
  readonly words: string
}

export interface SearchContext {
  readonly now: Date
  /** Only admins may search where values are masked. */
  readonly maySearchPayloads: boolean
  /** Existing names, where they are known: a word is then read as part of one. */
  readonly topics?: readonly string[] | undefined
  readonly queues?: readonly string[] | undefined
}

/** What can come before a colon, and an example of its value. */
export const SEARCH_QUALIFIERS = {
  'topic:': 'mail_digest',
  'queue:': 'mail',
  'error:': 'GatewayTimeout',
  'meta.': 'tenant:acme',
  'status:': 'failed',
  'after:': '2h',
  'before:': '2026-01-31',
  'id:': '1a2b3c4d',
  'payload:': '"order 42"',
} as const

const STATUSES: readonly FilterStatus[] = [...JOB_STATUSES, ...PENDING_KINDS, 'suspended']

const DAY_MS = 86_400_000
/** More would be more guesses than a person wants to see, and more searches than the API allows at once. */
const MAX_READINGS = 6
const MAX_NAMES = 2

/**
 * The readings of one line of text, the likeliest first: qualifiers such as `topic:mail` apply to all of them, and
 * the rest is read as an id, a name, a text of payloads or a text of errors. None for an empty line.
 */
export function parseSearch(text: string, context: SearchContext): SearchReading[] {
  const { bases, free } = readQualifiers(tokensOf(text), context)
  const guesses = free ? guessesOf(free, context) : [NOTHING]
  if (guesses.length === 0) throw noReading(text)
  const readings = guesses.flatMap((guess) => bases.map((base) => combine(guess, base, context)))
  return readings.filter(({ words }) => words !== '').slice(0, MAX_READINGS)
}

/** Completions of the text: of the qualifier or the name that is being typed. */
export function completeSearch(text: string, { topics = [], queues = [] }: Partial<SearchContext>): string[] {
  const typed = /\S*$/.exec(text)?.[0] ?? ''
  const before = text.slice(0, text.length - typed.length)
  const [, name = '', part = ''] = /^(topic:|queue:|status:)(.*)$/.exec(typed) ?? []
  const values = { 'topic:': topics, 'queue:': queues, 'status:': STATUSES }[name]
  const whole = values
    ? values.filter((value) => value !== part && contains(value, part)).map((value) => name + quoted(value))
    : Object.keys(SEARCH_QUALIFIERS).filter((known) => known !== typed && known.startsWith(typed))
  return whole.map((completed) => before + completed + (values ? ' ' : ''))
}

/** Ids are 32 digits and four dashes. Fewer than four digits at the end would match many jobs. */
export function isIdSuffix(text: string): boolean {
  return /^[0-9a-f]{4,32}$/i.test(text.replaceAll('-', '')) && text.length <= 36
}

/** A word, or a quoted text; `name` is what came before its colon. */
interface Token {
  readonly name: string
  readonly value: string
  readonly isQuoted: boolean
  readonly raw: string
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  // A quote ends before a space or at the end of the line: a piece of JSON, `"n":1`, is a word like any other.
  for (const [raw] of text.matchAll(/([a-z]+(\.[^\s:"]+)?:)?"(?:[^"\\]|\\.)*"(?=\s|$)|\S+/gi)) {
    const [, name = '', rest = raw] = /^([a-z]+:|meta\.[^\s:"]+:)(?!\/\/)(.*)$/is.exec(raw) ?? []
    const inQuotes = /^"(.*)"$/s.exec(rest)?.[1]
    const value = inQuotes === undefined ? rest : inQuotes.replace(/\\(["\\])/g, '$1')
    tokens.push({ name: name.slice(0, -1), value, isQuoted: inQuotes !== undefined, raw })
  }
  return tokens
}

type Part = SearchReading
const NOTHING: Part = { filter: {}, words: '' }

/** The rest of the line: adjacent words are one text. */
interface Free {
  readonly text: string
  readonly isQuoted: boolean
  readonly isId: boolean
  readonly isPayload: boolean
}

function readQualifiers(tokens: readonly Token[], context: SearchContext) {
  const filter: Record<string, unknown> = {}
  const words: string[] = []
  // Not an object, which would lose a key like __proto__.
  const meta = new Map<string, MetaValue>()
  const free: Token[] = []
  const given = new Set<string>()
  const set = (name: keyof JobFilter, value: unknown, said: string) => {
    filter[name] = value
    words.push(said)
  }
  for (const token of tokens) {
    const { name: written, value, isQuoted, raw } = token
    const name = written.startsWith('meta.') ? written : written.toLowerCase()
    const isTopic = context.topics?.includes(raw) ?? false
    if (name === '' || isTopic) {
      free.push(isTopic ? { ...token, name: '', value: raw } : token)
      continue
    }
    if (value === '') throw invalid(`${written}: has no value`, exampleOf(written))
    if (given.has(name)) throw invalid(`${written}: is given twice`, 'Remove one of them.')
    given.add(name)
    switch (name) {
      case 'topic':
        set('topic', value, `topic ${value}`)
        break
      case 'queue':
        set('queue', value, `queue ${value}`)
        break
      case 'error':
        set('errorText', value, `error contains “${value}”`)
        break
      case 'status':
        set('status', toStatus(value), `status ${toStatus(value)}`)
        break
      case 'after':
        set('createdFrom', toTime('after', value, context.now), `created after ${value}`)
        break
      case 'before':
        set('createdTo', toTime('before', value, context.now), `created before ${value}`)
        break
      case 'id':
        if (guessesOfId(value).length === 0)
          throw invalid(
            `id: “${value}” is neither the beginning nor the end of an id`,
            'Type at least 4 of its hexadecimal digits, such as id:1a2b3c4d.',
          )
        free.push(token)
        break
      case 'payload':
        if (!context.maySearchPayloads)
          throw invalid(
            'payload: only admins can search payloads',
            'Search by id, topic, queue, error or meta.',
          )
        free.push(token)
        break
      default: {
        const key = /^meta\.(.+)$/.exec(name)?.[1]
        if (key === undefined) throw unknownQualifier(written, raw)
        const isTyped = !isQuoted && /^(true|false|-?(0|[1-9]\d{0,14})(\.\d+)?)$/.test(value)
        meta.set(key, { text: value, typed: isTyped ? (JSON.parse(value) as number | boolean) : value })
        words.push(`meta.${key} is ${value}`)
      }
    }
  }
  const { createdFrom, createdTo } = filter as Pick<JobFilter, 'createdFrom' | 'createdTo'>
  if (createdFrom && createdTo && createdFrom >= createdTo)
    throw invalid('after: is not before before:', 'Swap them, or remove one.')
  return { bases: basesOf(filter, words.join(', '), meta), free: freeOf(free) }
}

/** A value as it was written, and as the JSON that it may stand for. */
interface MetaValue {
  readonly text: string
  readonly typed: string | number | boolean
}

/** A value that looks like a number may have been stored as one or as a text. */
function basesOf(filter: JobFilter, words: string, meta: ReadonlyMap<string, MetaValue>): Part[] {
  const entries = [...meta]
  if (entries.length === 0) return [{ filter, words }]
  const withMeta = (as: 'text' | 'typed') => ({
    ...filter,
    meta: Object.fromEntries(entries.map(([key, value]) => [key, value[as]])),
  })
  const isTyped = entries.some(([, { text, typed }]) => text !== typed)
  if (!isTyped) return [{ filter: withMeta('text'), words }]
  return [
    { filter: withMeta('typed'), words },
    { filter: withMeta('text'), words: `${words} (as text)` },
  ]
}

function freeOf(tokens: readonly Token[]): Free | null {
  const [first, ...others] = tokens
  if (!first) return null
  const named = tokens.find(({ name }) => name !== '')
  if (named && others.length > 0)
    throw invalid(
      `${named.raw} cannot be combined with other words`,
      'Put words that belong together in quotes, such as payload:"order 42".',
    )
  return {
    text: tokens.map(({ value }) => value).join(' '),
    isQuoted: tokens.some(({ isQuoted }) => isQuoted),
    isId: first.name.toLowerCase() === 'id',
    isPayload: first.name.toLowerCase() === 'payload',
  }
}

function guessesOf({ text, isQuoted, isId, isPayload }: Free, context: SearchContext): Part[] {
  // Empty quotes: every payload contains that.
  if (text === '') return []
  if (isId || isJobId(text.toLowerCase())) return guessesOfId(text)
  const payload: Part[] = context.maySearchPayloads
    ? [{ filter: { payloadText: text }, words: `payload contains “${text}”` }]
    : []
  if (isPayload) return payload
  const error: Part = { filter: { errorText: text }, words: `error contains “${text}”` }
  if (isQuoted) return [...payload, error]
  const ids = guessesOfId(text)
  // A long one is hardly anything but an id; `cafe` and `2026` are words first.
  const [likely, unlikely] = text.replaceAll('-', '').length >= 8 ? [ids, []] : [[], ids]
  const topics = namesLike(text, 'topic', context.topics)
  const queues = namesLike(text, 'queue', context.queues)
  const texts = /^[A-Z]\w*(Error|Exception|Timeout|Failure)\b/.test(text)
    ? [error, ...payload]
    : [...payload, error]
  return [
    ...likely,
    ...topics.exact,
    ...queues.exact,
    ...texts,
    ...topics.partial,
    ...queues.partial,
    ...unlikely,
  ]
}

/** Ids begin with their time, and until 2039 with `01`; the app shows the last eight digits. */
function guessesOfId(text: string): Part[] {
  const id = text.toLowerCase()
  if (isJobId(id)) return [{ filter: { idPrefix: id }, words: `id is ${id}` }]
  if (!isIdSuffix(id)) return []
  const begins = { filter: { idPrefix: id }, words: `id begins with ${id}` }
  const ends = { filter: { idSuffix: id }, words: `id ends with ${id}` }
  return /^01[0-9a-f-]{6}/.test(id) ? [begins, ends] : [ends]
}

/** Words that are joined: a single one is hardly meant as a topic that is not known. */
const LIKE_A_TOPIC = /^[a-z]\w*([_.:-]\w+)+$/i

/** Names that are the text, and names that have it in them. Where none are known, the text may be one. */
function namesLike(text: string, kind: 'topic' | 'queue', known: readonly string[] | undefined) {
  const part = (name: string): Part => ({ filter: { [kind]: name }, words: `${kind} ${name}` })
  const all = known ?? (/^[\w./-]+$/.test(text) && text.length <= 100 ? [text] : [])
  const partial = all.filter((name) => name !== text && text.length > 1 && contains(name, text))
  // Of topics only those are known that a worker has announced: jobs may wait for one that never came.
  const isUnknown = kind === 'topic' && !all.includes(text) && LIKE_A_TOPIC.test(text)
  return {
    exact: all.filter((name) => name === text).map(part),
    partial: [...partial.slice(0, MAX_NAMES), ...(isUnknown ? [text] : [])].map(part),
  }
}

function combine(guess: Part, base: Part, { now }: SearchContext): SearchReading {
  const filter = { ...base.filter, ...guess.filter }
  const parts = [guess.words, base.words].filter(Boolean)
  if (filter.payloadText === undefined || filter.createdFrom) return { filter, words: parts.join(', ') }
  // Payloads are read one by one: without a start time it would take too long.
  const createdFrom = new Date((filter.createdTo ?? now).getTime() - DAY_MS)
  const when = filter.createdTo ? 'the 24 hours before' : 'last 24 hours'
  return { filter: { ...filter, createdFrom }, words: `${parts.join(', ')} (${when})` }
}

/** The app's words. */
const SPOKEN: ReadonlyMap<string, FilterStatus> = new Map([['running', 'processing']])

function toStatus(text: string): FilterStatus {
  const wanted = text.toLowerCase()
  const status = SPOKEN.get(wanted) ?? STATUSES.find((known) => known === wanted)
  if (status) return status
  throw invalid(`status: “${text}” is not a status`, `Use one of ${STATUSES.join(', ')}.`)
}

function toTime(name: string, text: string, now: Date): Date {
  const at = parsePastTime(text, now)
  if (!at) throw invalid(`${name}: “${text}” is not a time`, PAST_TIME_HINT)
  return at
}

const contains = (name: string, part: string) => name.toLowerCase().includes(part.toLowerCase())
const quoted = (value: string) => (/[\s"]/.test(value) ? JSON.stringify(value) : value)

function exampleOf(name: string): string {
  const example = Object.entries(SEARCH_QUALIFIERS).find(([known]) => known === `${name.toLowerCase()}:`)
  return example ? `Write it without a space: ${example.join('')}.` : `Write it as ${name}:value.`
}

function unknownQualifier(name: string, raw: string): OncueError {
  const known = Object.keys(SEARCH_QUALIFIERS).map((each) => (each === 'meta.' ? 'meta.key:' : each))
  return invalid(
    `There is no qualifier ${name}:`,
    `Use ${known.join(' ')}, or search for the text in quotes: "${raw}".`,
  )
}

function noReading(text: string): OncueError {
  return invalid(`Nothing can be searched for “${text}”`, 'Search by id, topic, queue, error or meta.')
}

function invalid(message: string, hint: string): OncueError {
  return new OncueError('INVALID_INPUT', message, { hint })
}
