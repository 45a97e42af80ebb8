import { type ErrorCode, isOncueError, OncueError } from '@oncue/core'
import { describeError } from '../portable/driver-error.ts'

/** SQLSTATE, or the first two characters of it (its class), to our code. */
const BY_STATE: Record<string, ErrorCode> = {
  '08': 'DATABASE_UNAVAILABLE',
  '22': 'DATABASE_REFUSED',
  '23': 'DATABASE_REFUSED',
  '25006': 'DATABASE_READ_ONLY',
  '3F000': 'MIGRATION_NEEDED',
  '40': 'DATABASE_CONFLICT',
  '42883': 'MIGRATION_NEEDED',
  '42P01': 'MIGRATION_NEEDED',
  '42703': 'MIGRATION_NEEDED',
  '53100': 'DATABASE_FULL',
  '53': 'DATABASE_UNAVAILABLE',
  '55P03': 'DATABASE_BUSY',
  '57014': 'DATABASE_BUSY',
  '57P': 'DATABASE_UNAVAILABLE',
  // Raised by our own functions.
  OC001: 'UNIQUE_KEY_LIVE',
  OC002: 'UNKNOWN_PARENT',
  OC003: 'UNSUPPORTED_ISOLATION',
  OC004: 'QUEUE_NOT_ALLOWED',
}

/** Prisma's own codes for a server that it cannot reach, or that went away. */
const PRISMA_LOST = /^P(1001|1002|1008|1017|2024|2037)$/
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)/
/** What `pg` says without a code when a connection goes away or none can be had. */
const LOST =
  /Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|timeout exceeded when trying to connect|Query read timeout/

/** Every error of the driver becomes one of ours, with the driver's own as its cause. */
export function toOncueError(error: unknown): OncueError {
  if (isOncueError(error)) return error
  const { code, message, constraint } = describeError(error)
  if (constraint === 'jobs_pkey') {
    return new OncueError('DUPLICATE_ID', 'A job with this id exists already', { cause: error })
  }
  const jobId = code.startsWith('OC') ? /[0-9a-f-]{36}/.exec(message)?.[0] : undefined
  const ours =
    lookUp(code) ??
    (isOurs(code, message) ? 'MIGRATION_NEEDED' : undefined) ??
    (PRISMA_LOST.test(code) || NETWORK.test(code) || LOST.test(message)
      ? 'DATABASE_UNAVAILABLE'
      : 'DATABASE_ERROR')
  if (ours === 'QUEUE_NOT_ALLOWED') return new OncueError(ours, message, { cause: error })
  if (jobId) return new OncueError(ours, message, { cause: error, details: { jobId } })
  return new OncueError(ours, `Postgres: ${message}`, { cause: error, ...(code && { details: { code } }) })
}

/** A type of our functions that does not exist, in whatever schema. The same code is for roles and settings. */
function isOurs(code: string, message: string): boolean {
  return code === '42704' && /\w\.\w+_[0-9a-f]{8}\b/.test(message)
}

function lookUp(code: string): ErrorCode | undefined {
  if (!/^[0-9A-Z]{5}$/.test(code)) return undefined
  return BY_STATE[code] ?? BY_STATE[code.slice(0, 3)] ?? BY_STATE[code.slice(0, 2)]
}
