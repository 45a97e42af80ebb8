import { ERRORS, type ErrorCode, isOncueError, OncueError } from '@oncue/core'
import { TRPCClientError } from '@trpc/client'

/** The error that the API returned; otherwise a network error. */
export function toOncueError(error: unknown, url: string): OncueError {
  if (isOncueError(error)) return error
  const named = error instanceof TRPCClientError ? fromTrpc(error) : undefined
  return named ?? toNetworkError(error, url)
}

/** Decodes an error of the API, from tRPC and REST. Undefined if it is not the API's. */
export function fromWire(value: unknown): OncueError | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { code, message, hint, details } = value as Partial<OncueError>
  if (typeof code !== 'string' || typeof message !== 'string') return undefined
  // A newer API may have more codes.
  if (!isCode(code)) return new OncueError('INTERNAL', `${code}: ${message}`, { hint, details })
  return new OncueError(code, message, { hint, details })
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code)

type WithCauses = { readonly message?: unknown; readonly cause?: unknown; readonly code?: unknown }

function fromTrpc({ data, meta }: TRPCClientError<never>): OncueError | undefined {
  const response = meta?.responseJSON as { error?: unknown } | undefined
  return fromWire((data as { oncue?: unknown } | undefined)?.oncue) ?? fromWire(response?.error)
}

function toNetworkError(error: unknown, url: string): OncueError {
  const causes: WithCauses[] = []
  for (let next = error; typeof next === 'object' && next !== null && causes.length < 5; ) {
    causes.push(next)
    next = (next as WithCauses).cause
  }
  if (causes.some((cause) => cause instanceof SyntaxError)) {
    const message = `${url} is not an Oncue API`
    return new OncueError('NETWORK_ERROR', message, {
      cause: error,
      hint: 'Check that this is the address of the API.',
    })
  }
  // The innermost cause says most: "connect ECONNREFUSED 127.0.0.1:4400" and not "fetch failed".
  const reason = causes.findLast(({ message }) => typeof message === 'string' && message !== '')?.message
  return new OncueError('NETWORK_ERROR', `${url} is unreachable: ${reason ?? 'no reason given'}`, {
    cause: error,
  })
}
