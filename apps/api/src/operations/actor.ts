import { LIMITS } from '@oncue/core'
import type { ApiContext } from '../context.ts'

/** As jobs, queues and schedules remember who acted on them. */
export function actorOf({ principal }: ApiContext): string {
  return (principal.name || principal.id).slice(0, LIMITS.keyLength)
}
