import { isOncueError, type OncueError } from '@oncue/core'
import { formatDuration } from '@oncue/runtime'

/** The result of one check of a database. */
export interface Finding {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly found: string
  /** What it means, and what to do. Null: it is fine. */
  readonly advice: string | null
}

export type Seen = Omit<Finding, 'check'>

export const ok = (found: string): Seen => ({ status: 'ok', found, advice: null })
export const warn = (found: string, advice: string): Seen => ({ status: 'warn', found, advice })
export const fail = (found: string, advice: string): Seen => ({ status: 'fail', found, advice })

export type Check = readonly [name: string, look: () => Promise<Seen> | Seen]

/** Runs the checks one after the other. A check that fails is a finding too, and does not hide the rest. */
export async function lookAll(
  checks: readonly Check[],
  toError: (error: unknown) => OncueError,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [check, look] of checks) {
    try {
      findings.push({ check, ...(await look()) })
    } catch (cause) {
      const error = isOncueError(cause) ? cause : toError(cause)
      findings.push({ check, ...warn(`could not be checked: ${error.message}`, error.hint) })
    }
  }
  return findings
}

export type OldestRows = { readonly live: Date | null; readonly finished: Date | null; readonly now: Date }

export function oldest({ live, finished, now }: OldestRows): Seen {
  const age = (date: Date | null) =>
    date ? `${formatDuration(Math.max(0, now.getTime() - date.getTime()))} old` : 'none'
  return ok(`live job: ${age(live)}; finished job: ${age(finished)}`)
}

const MB = 1_048_576

/** "0.4 MB", "12 MB", "1.5 GB". */
export function bytes(size: number): string {
  if (size >= 1_024 * MB) return `${(size / 1_024 / MB).toFixed(1)} GB`
  if (size < MB / 10) return `${Math.ceil(size / 1_024)} KB`
  return `${(size / MB).toFixed(size < 10 * MB ? 1 : 0)} MB`
}
