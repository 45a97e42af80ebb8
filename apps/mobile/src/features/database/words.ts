import { count, duration } from '../../lib/format.ts'
import type { Finding } from './queries.ts'

const ORDER: Readonly<Record<Finding['status'], number>> = { fail: 0, warn: 1, ok: 2 }

/** What is wrong comes first; the rest stays in its order. */
export function byTrouble(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((a, b) => ORDER[a.status] - ORDER[b.status])
}

/** "1 problem, 2 warnings", "All 14 checks passed". */
export function verdictOf(findings: readonly Finding[]): string {
  const having = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length
  const [problems, warnings] = [having('fail'), having('warn')]
  const words = [problems > 0 && count(problems, 'problem'), warnings > 0 && count(warnings, 'warning')]
  return words.filter(Boolean).join(', ') || `All ${count(findings.length, 'check')} passed`
}

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Checks are worded for the command line, which writes `12m 4s`; the app has one way to write a duration. */
export function inUnitsOfApp(found: string): string {
  return found.replace(/(?<=^|[ (])(?:\d+(?:\.\d+)?(?:ms|[smhd]) ?)+(?=$|[ ,;.)])/g, (written) => {
    const parts = [...written.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)]
    const ms = parts.reduce((sum, [, many, unit]) => sum + Number(many) * UNITS_MS[unit as 'ms'], 0)
    return duration(ms) + (written.endsWith(' ') ? ' ' : '')
  })
}

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
