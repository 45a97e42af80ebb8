import { OncueError } from '@oncue/core'
import { Cron } from 'croner'

/** Far beyond real patterns, far below what a list of a million minutes takes to read. */
const MAX_LENGTH = 256

/** The moments that a pattern means in a time zone. */
export interface Ticks {
  /** The first tick after a moment; null when there is none any more. */
  next(after: Date): Date | null
}

/**
 * Reads a pattern of five fields, of six with seconds, or a nickname such as `@daily`.
 *
 * When clocks change: a fixed time that is skipped ticks once, at the change; a fixed time that comes
 * twice ticks the first time only; what repeats (`*`, steps, lists of hours) follows the hands.
 */
export function parseCron(cron: string, timezone: string): Ticks {
  assertShape(cron)
  assertTimezone(timezone)
  try {
    const pattern = new Cron(cron, { timezone, mode: '5-or-6-parts' })
    return { next: (after) => pattern.nextRun(after) }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace(/^\w+: /, '') : String(cause)
    throw new OncueError('INVALID_CRON', `cron ${JSON.stringify(cron)} cannot be read: ${reason}`, { cause })
  }
}

/** Its first tick after a moment. A pattern that never ticks, such as the 31st of February, is a mistake. */
export function firstTick(cron: string, timezone: string, after: Date): Date {
  const tick = parseCron(cron, timezone).next(after)
  if (tick) return tick
  throw new OncueError('INVALID_CRON', `cron ${JSON.stringify(cron)} never ticks`)
}

/** Croner would also take a date, which ticks once and is what `runAt` is for. */
function assertShape(cron: string): void {
  if (typeof cron !== 'string') throw new OncueError('INVALID_CRON', 'cron must be a string')
  if (cron.length > MAX_LENGTH) {
    const message = `cron has ${cron.length} characters, at most ${MAX_LENGTH} are allowed`
    throw new OncueError('INVALID_CRON', message)
  }
  if (/^@[a-z]+$/i.test(cron) || /^[\x21-\x7e]+(?: +[\x21-\x7e]+){4,5}$/.test(cron)) return
  throw new OncueError('INVALID_CRON', `cron ${JSON.stringify(cron)} has not five or six fields`)
}

/** By name: an offset (`+02:00`) knows no summer, so whoever writes one means something else. */
function assertTimezone(timezone: string): void {
  try {
    if (typeof timezone === 'string' && /^[A-Za-z]/.test(timezone) && timezone.length <= MAX_LENGTH) {
      new Intl.DateTimeFormat('en', { timeZone: timezone })
      return
    }
  } catch {
    // Intl does not know it.
  }
  const given = JSON.stringify(String(timezone).slice(0, 60))
  throw new OncueError('INVALID_CRON', `timezone ${given} is not the name of a time zone`)
}
