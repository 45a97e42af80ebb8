import { isOncueError, type OncueError } from '@oncue/core'

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
