import { once } from 'node:events'
import { request as http, type IncomingMessage } from 'node:http'
import { request as https } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isOncueError } from '@oncue/core'

/** For the whole of it: name, connection, request, answer. */
const TIMEOUT_MS = 10_000

export interface Post {
  readonly url: URL
  /** JSON */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Of the answer; what comes after that is not read. */
  readonly maxBytes: number
  /** Instead of the system's. */
  readonly lookup?: LookupFunction
  readonly signal: AbortSignal
  readonly timeoutMs?: number
}

export interface Answer {
  readonly status: number
  readonly text: string
  /** How long we are asked to wait. */
  readonly retryAfterMs: number | undefined
}

/** There was no answer; the message says why, for people. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/** One request, whatever is answered. Redirects are answers like others: nobody checked where they lead. */
export async function post({ timeoutMs = TIMEOUT_MS, ...sent }: Post): Promise<Answer> {
  const deadline = AbortSignal.timeout(timeoutMs)
  try {
    const response = await send({ ...sent, signal: AbortSignal.any([sent.signal, deadline]) })
    const { statusCode: status = 0, headers } = response
    const text = await readStart(response, sent.maxBytes)
    return { status, text, retryAfterMs: toMs(headers['retry-after']) }
  } catch (cause) {
    if (sent.signal.aborted) throw sent.signal.reason
    const why = deadline.aborted ? `no answer within ${timeoutMs / 1_000} s` : faultOf(cause)
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
    // A connection of its own: one that was kept was checked for another name.
    agent: false,
    signal,
    ...(lookup && { lookup }),
  })
  // What breaks after the answer has begun concerns its reader, who hears of it there.
  request.on('error', () => {})
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

/** The status has come, and that is what counts: an answer that breaks off, or never ends, changes nothing. */
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
  return code ?? message
}

/** Of the two forms that it may have, the one that is used. */
function toMs(retryAfter: string | undefined): number | undefined {
  return retryAfter && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : undefined
}
