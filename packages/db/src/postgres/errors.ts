import { type ErrorCode, isOncueError, OncueError } from '@oncue/core'
import { describeError } from '../portable/driver-error.ts'

/** SQLSTATE, or the first two characters of it (its class), to our code. */
const BY_STATE: Record<string, ErrorCode> = {
  '08': 'DATABASE_UNAVAILABLE',
  '22': 'DATABASE_REFUSED',
  '23': 'DATABASE_REFUSED',
  '25006': 'DATABASE_READ_ONLY',
  // Something depends on what would be dropped.
  '2BP01': 'DATABASE_REFUSED',
  // A wrong user, password or database name.
  '28': 'DATABASE_UNAVAILABLE',
  '3D000': 'DATABASE_UNAVAILABLE',
  '3F000': 'MIGRATION_NEEDED',
  '40': 'DATABASE_CONFLICT',
  // The role lacks a privilege.
  '42501': 'DATABASE_REFUSED',
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
  OC005: 'DUPLICATE_ID',
}

/** Prisma's own codes for a server that cannot be reached, or that went away. */
const PRISMA_LOST = /^P(1001|1002|1008|1017|2024|2037)$/
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)/
/** What `pg` says without a code when a connection goes away or none can be had. */
const LOST =
  /Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|timeout exceeded when trying to connect|Query read timeout/

/** Converts an error of the driver into one of ours, with the driver's own as its cause. */
export function toOncueError(error: unknown): OncueError {
  if (isOncueError(error)) return error
  const { code, message, constraint } = describeError(error)
  if (constraint === 'jobs_pkey') {
    return new OncueError('DUPLICATE_ID', 'A job with this id already exists', { cause: error })
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
  const hint = hintOf(error)
  return new OncueError(ours, `Postgres: ${message}`, {
    cause: error,
    hint,
    ...(code && { details: { code } }),
  })
}

/** The privilege that is usually missing, by the kind of object that the message names. */
const RIGHTS: Record<string, string> = {
  database: 'create',
  schema: 'usage',
  function: 'execute',
  sequence: 'usage',
}

/** A hint for a missing privilege, or for an object that is in the way. */
export function hintOf(error: unknown): string | undefined {
  const { code, message } = describeError(error)
  if (code === '2BP01') {
    const { detail } = error as { detail?: unknown }
    const objects = typeof detail === 'string' ? detail.split('\n').slice(0, 3).join('; ') : message
    return `Drop or change these first: ${objects}.`
  }
  if (code !== '42501') return undefined
  const [, kind = '', name = ''] = /permission denied for (\w+) (\S+)/.exec(message) ?? []
  if (kind === '') return `Connect as the owner of Oncue's schema, or as a role with its rights: ${message}.`
  const right = RIGHTS[kind] ?? (name === 'migrations' ? 'select' : 'select, insert, update, delete')
  return `Run \`grant ${right} on ${kind} ${name} to …\` for the role of this connection: docs/guides/production.md lists all grants.`
}

/** A type of our functions that does not exist, in whatever schema. The same code is for roles and settings. */
function isOurs(code: string, message: string): boolean {
  return code === '42704' && /\w\.\w+_[0-9a-f]{8}\b/.test(message)
}

function lookUp(code: string): ErrorCode | undefined {
  if (!/^[0-9A-Z]{5}$/.test(code)) return undefined
  return BY_STATE[code] ?? BY_STATE[code.slice(0, 3)] ?? BY_STATE[code.slice(0, 2)]
}
