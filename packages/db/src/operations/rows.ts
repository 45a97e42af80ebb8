import type { OperationAction } from '@oncue/core/wire'
import type {
  OperationError,
  OperationPosition,
  OperationRequest,
  OperationRow,
  OperationStatus,
} from '../operations.ts'
import { hashOf } from '../reads/cursor.ts'
import { timeOf } from '../reads/summary.ts'
import type { Sql } from '../sql.ts'
import type { JobFilter } from '../store.ts'

/** Times and JSON as the dialect gives them. */
export type StoredOperation = {
  readonly id: string
  readonly action: OperationAction
  readonly filter: unknown
  readonly as_of: unknown
  readonly spread_ms: number
  readonly status: OperationStatus
  readonly total: number
  readonly total_is_exact: boolean | number
  readonly done: number
  readonly skipped: unknown
  readonly position: unknown
  readonly step: number
  readonly error: unknown
  readonly actor_id: string
  readonly actor_name: string
  readonly actor_kind: string
  readonly stopped_by: string | null
  readonly created: unknown
  readonly updated: unknown
  readonly finished_at: unknown
}

export function readOperation(sql: Sql, row: StoredOperation): OperationRow {
  return {
    id: row.id,
    action: row.action,
    filter: readFilter(sql.json(row.filter)),
    asOf: timeOf(sql, row.as_of),
    spreadMs: row.spread_ms,
    status: row.status,
    total: row.total,
    totalIsExact: Boolean(row.total_is_exact),
    done: row.done,
    skipped: sql.json(row.skipped) as Record<string, number>,
    position: readPosition(sql.json(row.position)),
    step: row.step,
    error: sql.json(row.error) as OperationError | null,
    actor: { id: row.actor_id, name: row.actor_name, kind: row.actor_kind },
    stoppedBy: row.stopped_by,
    created: timeOf(sql, row.created),
    updated: timeOf(sql, row.updated),
    finishedAt: sql.time(row.finished_at),
  }
}

/** JSON has no dates. */
function readFilter(stored: unknown): JobFilter {
  const { createdFrom, createdTo, ...same } = stored as JobFilter
  return {
    ...same,
    ...(createdFrom && { createdFrom: new Date(createdFrom) }),
    ...(createdTo && { createdTo: new Date(createdTo) }),
  }
}

function readPosition(stored: unknown): OperationPosition | null {
  if (stored === null) return null
  const { next, ...same } = stored as OperationPosition
  return { ...same, next: next && { ...next, created: new Date(next.created) } }
}

/** What a key stands for. */
export function isSameRequest(begun: OperationRow, asked: OperationRequest): boolean {
  const essence = ({ action, filter, asOf, spreadMs }: Omit<OperationRequest, 'idempotencyKey'>) =>
    hashOf({ action, filter, asOf, spreadMs })
  return essence(begun) === essence(asked)
}
