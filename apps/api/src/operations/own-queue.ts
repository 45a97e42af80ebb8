import { DEFAULTS, INTERNAL_QUEUE, OncueError } from '@oncue/core'
import type { ApiContext } from '../context.ts'

/** Refuses a queue into which the caller may not enqueue. */
export async function queueChecker({ auth, principal }: ApiContext): Promise<(queue?: string) => void> {
  const assertAllowed = await auth.queueChecker(principal)
  return (queue = DEFAULTS.queue) => {
    assertOtherQueue(queue)
    assertAllowed(queue)
  }
}

/** What waits there nobody would see: health, alerts and people's actions leave it out. */
function assertOtherQueue(queue: string): void {
  if (queue !== INTERNAL_QUEUE) return
  throw new OncueError('INVALID_QUEUE', `queue: "${INTERNAL_QUEUE}" is where Oncue's own jobs wait`, {
    hint: 'Use another name.',
  })
}
