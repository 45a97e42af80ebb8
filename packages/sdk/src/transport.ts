import { OncueError } from '@oncue/core'
import { systemClock } from '@oncue/core/internal'
import { decodeDates, encodeDates } from '@oncue/core/wire'
import {
  createTRPCUntypedClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  splitLink,
  type TRPCUntypedClient,
} from '@trpc/client'
import type { AnyRouter } from '@trpc/server'
import { EventSource } from 'eventsource'
import { sleep, withDeadline } from './deadline.ts'
import { fromWire, toOncueError } from './errors.ts'
import { pauseBefore } from './retry.ts'
import { isOrderlyEnd, subscribe } from './subscription.ts'
import { togetherLink } from './together.ts'

/** The API's limits: calls per request, characters per URL. */
const MAX_CALLS = 50
const MAX_URL = 8_000
/** `wait` and `watch` make this many times as many retries: with 3 retries, about 15 s. */
const PATIENCE = 3
/** A stream that was open this long was healthy: its failure counts as the first one. */
const STEADY_MS = 30_000

export interface CallRules {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  /** Idempotent: may be retried. */
  readonly isSafe?: boolean | undefined
  /** Sent in a request of its own. */
  readonly alone?: boolean | undefined
  /** Retries are marked, so that the API recognizes them. */
  readonly isMarked?: boolean | undefined
  /** Retried more often: a caller that waits anyway should survive a restart of the API. */
  readonly isPatient?: boolean | undefined
}

export interface StreamRules {
  readonly firstWithinMs?: number | undefined
  /** With the reason when the connection is lost, and with null when it is open again. */
  readonly onConnection?: ((lost: OncueError | null) => void) | undefined
}

/** Sends calls to the API. */
export interface Transport {
  /** How often a call is retried. */
  readonly retries: number
  readonly timeoutMs: number
  call(kind: 'query' | 'mutation', path: string, input: unknown, rules?: CallRules): Promise<unknown>
  /**
   * `firstWithinMs`: for streams that send a message at once, and callers with an alternative. It throws if no
   * message arrives within that time, and does not retry before the first one.
   */
  watch(
    path: string,
    input: object | undefined,
    signal: AbortSignal | undefined,
    rules?: StreamRules,
  ): AsyncIterable<unknown>
  /** Until then, callers with an alternative avoid streams, because one did not get through. */
  noStreamsUntil?: number
  /** For requests that are no procedures, because tRPC sets no cookies. */
  rest(method: 'POST' | 'DELETE', path: string, body?: object): Promise<unknown>
}

export interface HttpOptions {
  /** Without a trailing slash. */
  readonly url: string
  readonly headers: () => Promise<Record<string, string>>
  readonly fetch: typeof fetch
  readonly timeoutMs: number
  readonly retries: number
}

export class HttpTransport implements Transport {
  readonly retries: number
  readonly timeoutMs: number
  noStreamsUntil = 0
  readonly #options: HttpOptions
  readonly #client: TRPCUntypedClient<AnyRouter>

  constructor(options: HttpOptions) {
    this.retries = options.retries
    this.timeoutMs = options.timeoutMs
    this.#options = options
    this.#client = createTrpc(options)
  }

  async call(
    kind: 'query' | 'mutation',
    path: string,
    input: unknown,
    rules: CallRules = {},
  ): Promise<unknown> {
    const { signal, timeoutMs = this.timeoutMs, isSafe = kind === 'query', alone = false } = rules
    const late = () => this.#late(path, timeoutMs)
    for (let attempt = 0; ; attempt++) {
      const sent = rules.isMarked && attempt > 0 ? { ...(input as object), isRepeat: true } : input
      const send = (inner: AbortSignal) =>
        this.#client[kind](path, sent, { signal: inner, context: { alone } })
      try {
        return await withDeadline(send, { ms: timeoutMs, late, signal })
      } catch (error) {
        await this.#pauseOrThrow(error, attempt, { ...rules, isSafe })
      }
    }
  }

  /** Resumes after a lost connection: no message is missed or repeated. */
  async *watch(
    path: string,
    input: object | undefined,
    signal: AbortSignal | undefined,
    { firstWithinMs, onConnection }: StreamRules = {},
  ): AsyncGenerator<unknown, void> {
    let lastEventId: string | undefined
    let attempt = 0
    let isLost = false
    const onOpen = () => {
      if (isLost) onConnection?.(null)
      isLost = false
    }
    for (;;) {
      const speaksAtOnce = firstWithinMs !== undefined && lastEventId === undefined
      const context: { refusal?: OncueError } = {}
      const started = systemClock.now()
      try {
        const position = lastEventId === undefined ? input : { ...input, lastEventId }
        const timeoutMs = speaksAtOnce ? firstWithinMs : this.timeoutMs
        const options = { path, input: position, context, timeoutMs, speaksAtOnce, signal, onOpen }
        for await (const { id, data } of subscribe(this.#client, options)) {
          lastEventId = id
          attempt = 0
          yield data
        }
        return
      } catch (error) {
        if (systemClock.now() - started > STEADY_MS) attempt = 0
        if (speaksAtOnce && lastEventId === undefined) attempt = Number.POSITIVE_INFINITY
        const reason = context.refusal ?? error
        // The API opens an ended stream again; if it does not, the retry fails.
        if (!signal?.aborted && !(attempt === 0 && isOrderlyEnd(reason))) {
          isLost = true
          onConnection?.(toOncueError(reason, this.#options.url))
        }
        await this.#pauseOrThrow(reason, attempt++, { signal, isSafe: true, isPatient: true })
      }
    }
  }

  async rest(method: 'POST' | 'DELETE', path: string, body?: object): Promise<unknown> {
    const { url, fetch, headers } = this.#options
    const send = async (signal: AbortSignal) => {
      const init = body && { body: JSON.stringify(body) }
      const own = body && { 'content-type': 'application/json' }
      const response = await fetch(url + path, {
        ...{ ...init, method, signal, headers: { ...(await headers()), ...own } },
      })
      if (response.status === 204) return null
      if (response.ok) return response.json()
      throw (await readRefusal(response)) ?? new Error(`${method} ${path} returned ${response.status}`)
    }
    const late = () => this.#late(path, this.timeoutMs)
    try {
      return await withDeadline(send, { ms: this.timeoutMs, late })
    } catch (error) {
      throw toOncueError(error, url)
    }
  }

  #late(path: string, ms: number): OncueError {
    return new OncueError(
      'REQUEST_TIMEOUT',
      `${this.#options.url} did not respond to ${path} within ${ms} ms`,
    )
  }

  async #pauseOrThrow(
    thrown: unknown,
    attempt: number,
    { signal, isSafe = false, isPatient = false }: CallRules,
  ): Promise<void> {
    if (signal?.aborted) throw signal.reason
    const error = toOncueError(thrown, this.#options.url)
    const retries = this.retries * (isPatient ? PATIENCE : 1)
    const pause = pauseBefore(error, attempt, { retries, isSafe })
    if (pause === null) throw error
    await sleep(pause, signal)
  }
}

/** The part of superjson that the API uses. */
const transformer = {
  serialize: (value: unknown) => (value === undefined ? undefined : encodeDates(value)),
  deserialize: decodeDates,
}

function createTrpc({ url, headers, fetch }: HttpOptions): TRPCUntypedClient<AnyRouter> {
  const http = {
    url: `${url}/trpc`,
    transformer,
    headers,
    // Only the types differ: tRPC's allow for a signal that is undefined.
    fetch: (address: string | URL | Request, init: unknown) => fetch(address, init as RequestInit),
  }
  return createTRPCUntypedClient({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: httpSubscriptionLink({
          url: http.url,
          transformer,
          EventSource,
          // The platform's EventSource sends no headers, and hides why a stream was refused.
          eventSourceOptions: ({ op }) => ({
            async fetch(address, init) {
              const response = await fetch(address, {
                ...init,
                headers: { ...init.headers, ...(await headers()) },
              })
              if (response.status !== 200) op.context.refusal = await readRefusal(response.clone())
              return response
            },
          }),
        }),
        false: togetherLink(
          httpLink(http),
          httpBatchLink({ ...http, maxItems: MAX_CALLS, maxURLLength: MAX_URL }),
        ),
      }),
    ],
  })
}

async function readRefusal(response: Response): Promise<OncueError | undefined> {
  const body = (await response.json().catch(() => undefined)) as { error?: unknown } | undefined
  const error = decodeDates(body?.error) as { data?: { oncue?: unknown } } | undefined
  return fromWire(error?.data?.oncue) ?? fromWire(error)
}
