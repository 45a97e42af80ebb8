import { createHash } from 'node:crypto'
import { OncueError } from '@oncue/core'
import type { JobGlance } from '@oncue/db'

/**
 * How far a client has watched a job: the last event, and a digest of the last state. It is the id of every message, so a
 * client that reconnects with the last id misses nothing and gets nothing twice, from any process.
 */
export interface Position {
  readonly version: number
  /** Empty: none yet. */
  readonly state: string
}

export const START: Position = { version: 0, state: '' }

export function formatPosition({ version, state }: Position): string {
  return `${version}-${state}`
}

export function parsePosition(text: string | null | undefined): Position {
  if (text === null || text === undefined || text === '') return START
  const [, version, state] = /^(\d{1,15})-([0-9a-f]{16})?$/.exec(text) ?? []
  if (version === undefined) {
    const message = `lastEventId must be the id of a message of this stream, got ${JSON.stringify(text)}`
    throw new OncueError('INVALID_INPUT', message)
  }
  return { version: Number(version), state: state ?? '' }
}

export function digest({ status, run, progress, updated }: JobGlance): string {
  return createHash('sha256')
    .update(JSON.stringify([status, run, progress, updated]))
    .digest('hex')
    .slice(0, 16)
}
