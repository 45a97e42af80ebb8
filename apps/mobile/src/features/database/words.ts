import { count } from '../../lib/format.ts'
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

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
