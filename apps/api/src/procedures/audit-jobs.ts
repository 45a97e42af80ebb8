import type { AuditDetails } from './procedure.ts'

/** Ids that an audit entry names; its count says how many there were. */
const MAX_IDS = 100

export function auditJobs(
  { ids, ...rest }: { readonly ids: readonly string[] } & Readonly<Record<string, unknown>>,
  count: number,
): AuditDetails {
  return { target: { ...rest, ids: ids.slice(0, MAX_IDS) }, count }
}
