import { type JobDefinitions, OncueError } from '@oncue/core'
import { encodeDates } from '@oncue/core/wire'
import type { Calls } from './api.ts'
import { createJobs, type JobsClient } from './jobs.ts'
import { PROCEDURES } from './procedures.ts'
import { createSchedules, type SchedulesClient } from './schedules.ts'
import { createSession, type Session } from './session.ts'
import { HttpTransport, type Transport } from './transport.ts'

type ValueOrFunction<Value> = Value | (() => Value | Promise<Value>)

/** Where the API is, who calls, and how. Only `url` is needed. */
export interface ClientOptions<Jobs extends JobDefinitions> {
  /** The API's address, such as `https://oncue.example.com`; or a path, if the API serves the page that this runs in. */
  readonly url: string
  /** A function is called before each request. Omit it to use the cookie of a signed-in browser. */
  readonly token?: ValueOrFunction<string> | undefined
  /** Your job definitions. They type topics, payloads and results, and payloads are checked before a request is sent. */
  readonly jobs?: Jobs | undefined
  /** Sent with each request. A function is called before each one. */
  readonly headers?: ValueOrFunction<Record<string, string>> | undefined
  /** Timeout of a request, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /** How often queries and enqueues are retried when the API is unreachable or busy. Default: 3. */
  readonly retries?: number | undefined
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

/** Every procedure of the API. */
export interface Client<Jobs extends JobDefinitions = JobDefinitions>
  extends Omit<Calls, 'jobs' | 'schedules'> {
  readonly jobs: JobsClient<Jobs>
  readonly schedules: SchedulesClient<Jobs>
  readonly session: Session
}

const TIMEOUT_MS = 30_000
const RETRIES = 3

/** A client of the API over HTTP. Sends nothing until the first call. */
export function createClient<const Jobs extends JobDefinitions = JobDefinitions>(
  options: ClientOptions<Jobs>,
): Client<Jobs> {
  const { token, headers, jobs, timeoutMs = TIMEOUT_MS, retries = RETRIES } = options
  const transport = new HttpTransport({
    url: readUrl(options.url),
    // Looked up for each request, so that a replaced global fetch is used.
    fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
    timeoutMs: readCount(timeoutMs, 'timeoutMs', 1),
    retries: readCount(retries, 'retries', 0),
    async headers() {
      const secret = await ask(token)
      return { ...(await ask(headers)), ...(secret !== undefined && { authorization: `Bearer ${secret}` }) }
    },
  })
  return createClientOver(transport, jobs)
}

/** A client over any transport. */
export function createClientOver<Jobs extends JobDefinitions>(
  transport: Transport,
  jobs: Jobs | undefined,
): Client<Jobs> {
  const calls = toCalls(transport)
  return {
    ...calls,
    jobs: createJobs(transport, calls.jobs, jobs),
    schedules: createSchedules(calls.schedules, jobs),
    session: createSession(transport),
  }
}

function toCalls(transport: Transport): Calls {
  const nouns = Object.entries(PROCEDURES).map(([noun, verbs]) => [
    noun,
    Object.fromEntries(
      Object.entries(verbs).map(([verb, kind]) => [verb, toCall(transport, `${noun}.${verb}`, kind)]),
    ),
  ])
  // The compiler checks that the list has every procedure, with its kind.
  return Object.fromEntries(nouns) as Calls
}

type Kind = 'query' | 'mutation' | 'subscription'

interface Options {
  readonly signal?: AbortSignal
}

/** An invalid date is refused here, because within a batch it would fail the other calls too. */
function toCall(transport: Transport, path: string, kind: Kind) {
  if (kind === 'subscription')
    return async function* (input?: object, { signal }: Options = {}) {
      encodeDates(input)
      yield* transport.watch(path, input, signal)
    }
  return async (input?: object, options: Options = {}) => {
    encodeDates(input)
    return transport.call(kind, path, input, options)
  }
}

async function ask<Value>(value: ValueOrFunction<Value> | undefined): Promise<Value | undefined> {
  return typeof value === 'function' ? (value as () => Value | Promise<Value>)() : value
}

function readUrl(url: unknown): string {
  if (typeof url === 'string' && /^(https?:\/\/[^/?#]|\/)[^?#]*$/.test(url)) return url.replace(/\/+$/, '')
  throw new OncueError('INVALID_INPUT', `createClient: url must be an address, got ${JSON.stringify(url)}`, {
    hint: 'Use an address such as https://oncue.example.com, or the path / if the API serves the page.',
  })
}

function readCount(value: unknown, name: string, min: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min) return value
  const message = `createClient: ${name} must be a whole number of ${min} or more, got ${JSON.stringify(value)}`
  throw new OncueError('INVALID_INPUT', message)
}
