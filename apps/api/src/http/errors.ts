import type { Socket } from 'node:net'
import { ERRORS, OncueError } from '@oncue/core'
import type { Logger } from '@oncue/runtime'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isOurFault, toOncueError, toPublicError } from '../errors.ts'

/** Logs an error, sets the status, and returns the error that the caller may see. */
export function answerError(log: Logger, error: unknown, request: FastifyRequest, reply: FastifyReply) {
  logError(log, error, request)
  const known = toPublicError(error, request.id)
  void reply.status(ERRORS[known.code].http).type('application/json; charset=utf-8')
  return known
}

/** Server errors are logged as errors. The caller reads its own mistakes in the response: they are logged at debug. */
export function logError(log: Logger, error: unknown, { id, method, url }: FastifyRequest): void {
  const known = toOncueError(error)
  // Without the query, which may hold a payload.
  const fields = { requestId: id, method, path: url.split('?')[0], code: known.code }
  if (isOurFault(known)) log.error({ ...fields, err: known }, 'request failed')
  else log.debug({ ...fields, reason: known.message }, 'request rejected')
}

/** For data that is not valid HTTP, or whose head is too large: Fastify makes no request of it. */
export function answerClientError(_: Error, socket: Socket): void {
  if (!socket.writable) return
  const error = new OncueError('INVALID_INPUT', 'The request is not valid HTTP, or its head is too large', {
    hint: 'Send HTTP/1.1 with at most 16 KB of headers.',
  })
  const body = JSON.stringify({ error })
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
