import { newJobId, OncueError } from '@oncue/core'
import { createJobIds, type NewJobId } from '@oncue/core/internal'
import { type Runtime, systemRuntime } from '@oncue/runtime'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Postgres refuses other texts where it expects an id; a read treats them as ids that do not exist. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

export function assertWorkerId(id: string): void {
  if (!isUuid(id))
    throw new OncueError('INVALID_INPUT', `The worker id must be a UUID, not ${JSON.stringify(id)}`)
}

/** The process has one sequence of ids, and so has every simulation. */
const sequences = new WeakMap<Runtime, NewJobId>([[systemRuntime, newJobId]])

export function jobIdsOf(runtime: Runtime): NewJobId {
  const newId = sequences.get(runtime) ?? createJobIds(runtime)
  sequences.set(runtime, newId)
  return newId
}
