import { count, duration } from '../../lib/format.ts'
import type { Topic } from './queries.ts'

const DEFAULTS = { queue: 'default', priority: 0, maxRetries: 3, timeoutMs: 600_000 }

export interface Policy {
  readonly queue: string
  readonly priority: number
  readonly maxRetries: number
  readonly timeoutMs: number
}

/** The options of jobs whose caller gives none: those that workers announced, else the defaults. */
export function policyOf({ policy }: Pick<Topic, 'policy'>): Policy {
  const announced: Readonly<Record<string, unknown>> =
    typeof policy === 'object' && policy !== null ? { ...policy } : {}
  const numberAt = (name: 'priority' | 'maxRetries' | 'timeoutMs') => {
    const value = announced[name]
    return typeof value === 'number' ? value : DEFAULTS[name]
  }
  return {
    queue: typeof announced.queue === 'string' ? announced.queue : DEFAULTS.queue,
    priority: numberAt('priority'),
    maxRetries: numberAt('maxRetries'),
    timeoutMs: numberAt('timeoutMs'),
  }
}

export const retriesInWords = ({ maxRetries }: Policy) =>
  maxRetries === 0 ? 'no retries' : count(maxRetries, 'retry', 'retries')

export const timeoutInWords = ({ timeoutMs }: Policy) => duration(timeoutMs)

/** "Workers of shop (2) and of mail (1) announced different schemas"; null: all agree. */
export function clashInWords({ clash }: Pick<Topic, 'clash'>): string | null {
  if (!clash) return null
  const sides = clash.map(
    ({ services, workers }) => `${services.join(', ') || 'no service'} (${count(workers, 'worker')})`,
  )
  return `Running workers announced different schemas: ${sides.join(' and ')}. Deploy the same version everywhere.`
}
