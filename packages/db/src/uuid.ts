import { OncueError } from '@oncue/core'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Postgres refuses other texts where it expects an id; for a reader they are just ids that nobody has. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

export function assertWorkerId(id: string): void {
  if (!isUuid(id))
    throw new OncueError('INVALID_INPUT', `The worker id must be a UUID, not ${JSON.stringify(id)}`)
}
