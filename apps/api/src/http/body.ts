import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { OncueError } from '@oncue/core'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Principal } from '../auth/principal.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The most bytes that its body may have. */
    maxBody: number
  }
}

/** For signing in, which sends a token or a code. */
export const SIGN_IN_BYTES = 16 * 1_024
/** Enough for a thousand ids, or the longest list of topics: the limit of most procedures. */
const SMALL_BODY = 256 * 1_024
/** Enough for the largest payload, with room for escaped characters. */
export const JOB_BODY = 2 * 1_048_576
/** A batch of 1,000 jobs, or a few large ones. */
export const BATCH_BODY = 10 * 1_048_576

/** Deeper than any valid input: payloads have at most 200 levels. 10 MB of brackets would parse into 1 GB. */
const MAX_DEPTH = 256

/**
 * Sets the size limit before the body is read. Only callers who may enqueue can send large bodies, and the largest
 * ones only with a token, not with a cookie. PAYLOAD_TOO_LARGE if content-length exceeds the limit.
 */
export function limitBody(
  request: FastifyRequest,
  procedures: readonly { readonly maxBody?: number }[],
): void {
  const wanted = procedures.reduce((sum, { maxBody = SMALL_BODY }) => sum + maxBody, 0)
  request.maxBody = Math.min(wanted, mostOf(request.api.principal))
  if (Number(request.headers['content-length']) > request.maxBody) throw tooLarge(request.maxBody)
}

function mostOf({ kind }: Principal): number {
  if (kind === 'anonymous') return SMALL_BODY
  return kind === 'session' || kind === 'host' ? JOB_BODY : BATCH_BODY
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\[]{}')

type Done = (error: Error | null, body?: unknown) => void
type Parse = (request: FastifyRequest, text: string, done: Done) => void

/** Reads JSON up to `maxBody`. Fastify's own limit would be the same for every caller of a route. */
export function readBodies(app: FastifyInstance, parse: Parse): void {
  if (app.hasContentTypeParser('application/json')) app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', (request, payload, done) =>
    readText(payload, request.maxBody, (error, text) => (error ? done(error) : parse(request, text, done))),
  )
}

function readText(
  payload: IncomingMessage,
  limit: number,
  done: (error: Error | null, text: string) => void,
): void {
  const chunks: Buffer[] = []
  let size = 0
  const finish = (error: Error | null) => {
    payload.off('data', onData).off('end', onEnd).off('error', onError)
    if (error) return done(error, '')
    const body = Buffer.concat(chunks, size)
    if (size > SMALL_BODY && isTooDeep(body)) return done(tooDeep(), '')
    // Otherwise a replacement character would be stored for every letter of another encoding.
    if (!isUtf8(body)) return done(new OncueError('INVALID_JSON', 'The body is not UTF-8'), '')
    done(null, body.toString())
  }
  const onData = (chunk: Buffer) => {
    size += chunk.length
    if (size > limit) finish(tooLarge(limit))
    else chunks.push(chunk)
  }
  const onEnd = () => finish(null)
  const onError = (cause: Error) =>
    finish(new OncueError('INVALID_INPUT', 'The body ended before it was complete', { cause }))
  payload.on('data', onData).on('end', onEnd).on('error', onError)
}

/** Counts brackets in the bytes, before anything is parsed. */
function isTooDeep(body: Buffer): boolean {
  let depth = 0
  let inText = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (inText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inText = false
    } else if (byte === QUOTE) inText = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth++
      if (depth > MAX_DEPTH) return true
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return false
}

function tooDeep(): OncueError {
  return new OncueError('INVALID_INPUT', `The body is nested more than ${MAX_DEPTH} levels deep`)
}

function tooLarge(limit: number): OncueError {
  return new OncueError('PAYLOAD_TOO_LARGE', `The body has more than ${limit} bytes`, {
    hint: 'Send fewer jobs in one request, or smaller ones. Only a batch enqueued with a token may be up to 10 MB.',
  })
}
