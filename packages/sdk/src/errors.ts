import { ERRORS, type ErrorCode, isOncueError, OncueError } from '@oncue/core'
import { TRPCClientError } from '@trpc/client'

/** Whatever a request ended with, as the error that the API named, or as trouble on the way to it. */
export function toOncueError(error: unknown, url: string): OncueError {
  if (isOncueError(error)) return error
  const named = error instanceof TRPCClientError ? fromTrpc(error) : undefined
  return named ?? onTheWay(error, url)
}

/** An error as the API writes it, to tRPC and to REST alike; undefined: somebody else wrote it. */
export function fromWire(value: unknown): OncueError | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { code, message, hint, details } = value as Partial<OncueError>
  if (typeof code !== 'string' || typeof message !== 'string') return undefined
  // An API that is newer than this client may have more codes.
  if (!isCode(code)) return new OncueError('INTERNAL', `${code}: ${message}`, { hint, details })
  return new OncueError(code, message, { hint, details })
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code)

type WithCauses = { readonly message?: unknown; readonly cause?: unknown; readonly code?: unknown }

function fromTrpc({ data, meta }: TRPCClientError<never>): OncueError | undefined {
  const answer = meta?.responseJSON as { error?: unknown } | undefined
  return fromWire((data as { oncue?: unknown } | undefined)?.oncue) ?? fromWire(answer?.error)
}

function onTheWay(error: unknown, url: string): OncueError {
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
  // The innermost says most: "connect ECONNREFUSED 127.0.0.1:4400" and not "fetch failed".
  const reason = causes.findLast(({ message }) => typeof message === 'string' && message !== '')?.message
  return new OncueError('NETWORK_ERROR', `${url} is unreachable: ${reason ?? 'no reason given'}`, {
    cause: error,
  })
}
