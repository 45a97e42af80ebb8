import { isOncueError, type OncueError } from '@oncue/core'

/** What one look at a database showed. */
export interface Finding {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly found: string
  /** What it means, and what to do. Null: nothing. */
  readonly advice: string | null
}

export const ok = (check: string, found: string): Finding => ({ check, status: 'ok', found, advice: null })
export const warn = (check: string, found: string, advice: string): Finding => ({
  check,
  status: 'warn',
  found,
  advice,
})
export const fail = (check: string, found: string, advice: string): Finding => ({
  check,
  status: 'fail',
  found,
  advice,
})

export type Check = readonly [name: string, look: () => Promise<Finding> | Finding]

/** One after the other. What cannot be looked at is a finding too, and does not hide the rest. */
export async function lookAll(
  checks: readonly Check[],
  toError: (error: unknown) => OncueError,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [name, look] of checks) {
    try {
      findings.push(await look())
    } catch (cause) {
      const error = isOncueError(cause) ? cause : toError(cause)
      findings.push(warn(name, `could not be checked: ${error.message}`, error.hint))
    }
  }
  return findings
}
