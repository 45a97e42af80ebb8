import { isOncueError, OncueError } from '@oncue/core'
import { toInputError } from '@oncue/core/internal'
import { TRPCError } from '@trpc/server'
import { z } from 'zod'

/** Converts any thrown value. An unknown error becomes INTERNAL, and keeps its cause for the log. */
export function toOncueError(error: unknown): OncueError {
  if (isOncueError(error)) return error
  if (error instanceof TRPCError) return fromTrpc(error)
  return fromFastify(error) ?? new OncueError('INTERNAL', 'Internal error', { cause: error })
}

/**
 * The error that a caller gets. For a server error only its code, what was already done, and the request id, by which
 * the log has the rest: a message of the database would reveal hosts, tables and users.
 */
export function toPublicError(error: unknown, requestId: string): OncueError {
  const known = toOncueError(error)
  if (!isOurFault(known)) return known
  const { code, hint } = known
  const { done, skipped } = known.details ?? {}
  const message = `Internal error; see the server log for request ${requestId}`
  const details = { requestId, ...(done !== undefined && { done, skipped }) }
  return new OncueError(code, message, { hint, details, cause: error })
}

/** A fault of the server, not of the request. */
export function isOurFault({ code }: OncueError): boolean {
  return OUR_FAULTS.test(code)
}

const OUR_FAULTS = /^(DATABASE_|MIGRATION_|INTERNAL$|STORE_CLOSED$|JWKS_UNAVAILABLE$)/

/** Errors of tRPC itself, before any of our code runs. */
function fromTrpc(error: TRPCError): OncueError {
  const { cause, message } = error
  if (isOncueError(cause)) return cause
  if (cause instanceof z.core.$ZodError) return toInputError(cause, 'input', undefined)
  switch (error.code) {
    case 'NOT_FOUND':
      return new OncueError('NOT_FOUND', message, { cause })
    case 'METHOD_NOT_SUPPORTED':
      return new OncueError('METHOD_NOT_ALLOWED', message, { cause })
    case 'UNSUPPORTED_MEDIA_TYPE':
      return new OncueError('UNSUPPORTED_MEDIA_TYPE', message, { cause })
    case 'PAYLOAD_TOO_LARGE':
      return new OncueError('PAYLOAD_TOO_LARGE', message, { cause })
    case 'PARSE_ERROR':
    case 'BAD_REQUEST':
      if (cause instanceof SyntaxError) return new OncueError('INVALID_JSON', message, { cause })
      return new OncueError('INVALID_INPUT', message, { cause })
    default:
      return new OncueError('INTERNAL', 'Internal error', { cause: cause ?? error })
  }
}

/** Errors of Fastify, which have a code and a status. */
function fromFastify(error: unknown): OncueError | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  const { message } = error
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE' || statusCode === 413) {
    const hint = 'Send fewer jobs in one request, or smaller ones: a request may be at most 10 MB.'
    return new OncueError('PAYLOAD_TOO_LARGE', message, { cause: error, hint })
  }
  if (statusCode === 415) return new OncueError('UNSUPPORTED_MEDIA_TYPE', message, { cause: error })
  if (statusCode === 405) return new OncueError('METHOD_NOT_ALLOWED', message, { cause: error })
  if (statusCode === 404) return new OncueError('NOT_FOUND', message, { cause: error })
  if (code === 'FST_ERR_CTP_EMPTY_JSON_BODY' || code === 'FST_ERR_CTP_INVALID_JSON_BODY')
    return new OncueError('INVALID_JSON', message, { cause: error })
  if (error instanceof SyntaxError && statusCode === 400)
    return new OncueError('INVALID_JSON', message, { cause: error })
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500)
    return new OncueError('INVALID_INPUT', message, { cause: error })
  return undefined
}
