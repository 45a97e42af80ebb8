import { once } from 'node:events'
import { request as http, type IncomingMessage } from 'node:http'
import { request as https } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isOncueError } from '@oncue/core'
import { type Runtime, timeoutSignal } from '@oncue/runtime'

/** For the whole request: lookup, connection, response. */
const TIMEOUT_MS = 10_000

export interface Post {
  readonly url: URL
  /** JSON, unless the headers say otherwise. */
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** How much of the response is read. */
  readonly maxBytes: number
  /** Instead of the system's. */
  readonly lookup?: LookupFunction
  readonly signal: AbortSignal
  readonly timeoutMs?: number
  readonly runtime?: Runtime | undefined
}

export interface Answer {
  readonly status: number
  readonly text: string
  /** From the header `retry-after`. */
  readonly retryAfterMs: number | undefined
}

/** There was no response; the message says why, for people. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/** Sends one request and returns any response. Redirects are not followed: their target was not checked. */
export async function post({ timeoutMs = TIMEOUT_MS, runtime, ...sent }: Post): Promise<Answer> {
  const deadline = timeoutSignal(timeoutMs, runtime)
  try {
    const response = await send({ ...sent, signal: AbortSignal.any([sent.signal, deadline]) })
    const { statusCode: status = 0, headers } = response
    const text = await readStart(response, sent.maxBytes)
    return { status, text, retryAfterMs: toMs(headers['retry-after']) }
  } catch (cause) {
    if (sent.signal.aborted) throw sent.signal.reason
    const why = deadline.aborted ? `no response within ${timeoutMs / 1_000} s` : faultOf(cause)
    throw new Unanswered(why, { cause })
  }
}

async function send({ url, body, headers, lookup, signal }: Post): Promise<IncomingMessage> {
  const request = (url.protocol === 'https:' ? https : http)(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'oncue',
      ...headers,
    },
    // A new connection: a kept one was checked for another name.
    agent: false,
    signal,
    ...(lookup && { lookup }),
  })
  // An error after the response has begun is thrown where it is read.
  request.on('error', () => {})
  request.end(body)
  // With the signal, because a server that switches protocols causes neither a response nor an error.
  const [response] = (await once(request, 'response', { signal })) as [IncomingMessage]
  return response
}

/** Only the status counts: a response that breaks off, or never ends, is no error. */
async function readStart(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > maxBytes) break
    }
  } catch {}
  return Buffer.concat(chunks).subarray(0, maxBytes).toString()
}

function faultOf(error: unknown): string {
  if (isOncueError(error)) return error.message
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) return message
  const words = FAULTS[code]
  return words === undefined ? code : `${words} (${code})`
}

/** What an administrator has to look for. */
const FAULTS: Readonly<Record<string, string>> = {
  EAI_AGAIN: 'host name could not be looked up',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed by the other side',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'host not found',
  ETIMEDOUT: 'connection timed out',
}

/** Seconds; the other form, a date, is hardly used. */
function toMs(retryAfter: string | undefined): number | undefined {
  return retryAfter && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : undefined
}
