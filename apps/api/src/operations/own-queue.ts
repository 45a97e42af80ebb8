import { INTERNAL_QUEUE, OncueError } from '@oncue/core'

/** What waits there nobody would see: health, alerts and people's actions leave it out. */
export function assertOtherQueue(queue: string | undefined): void {
  if (queue !== INTERNAL_QUEUE) return
  throw new OncueError('INVALID_QUEUE', `queue: "${INTERNAL_QUEUE}" is where Oncue's own jobs wait`, {
    hint: 'Use another name.',
  })
}
