import { insertEntries } from '../access/audit.ts'
import { type Acted, type ActionBatch, BATCH } from '../actions.ts'
import type { PortableStatement, Sql } from '../sql.ts'
import { afterBatch, endEntry } from './account.ts'
import { countMatches, describeMatches, type Match } from './matches.ts'
import type { OperationRow, OperationStore } from './types.ts'

/** A batch of an action, and what is written beside it, in one transaction. */
export type FencedAction = {
  /** Locks and changes a row; if it changes none, nothing else happens. */
  readonly fence: PortableStatement
  /** Null: nothing is to be done, only written down. */
  readonly batch: ActionBatch | null
  readonly account: (acted: readonly Acted[]) => readonly PortableStatement[]
}

type Host = {
  readonly match: Match
  /** False: the fence did not hold. */
  readonly act: (action: FencedAction) => Promise<boolean>
}

/** Written once for both databases. */
export function createOperations(sql: Sql, { match, act }: Host): OperationStore {
  /** Does it, and writes down how the operation stands then, if this is how it stood. */
  async function writeDown(
    seen: OperationRow,
    batch: ActionBatch | null,
    afterIt: (acted: readonly Acted[]) => OperationRow,
  ): Promise<OperationRow | null> {
    let after = seen
    const isMine = await act({
      fence: {
        text: `update {operations} set step = step + 1 where id = ? and step = ? and status = 'running'`,
        values: [seen.id, seen.step],
      },
      batch,
      account(acted) {
        after = { ...afterIt(acted), step: seen.step + 1 }
        const { finishedAt } = after
        return [save(after), ...(finishedAt ? [insertEntries([endEntry(after)], finishedAt)] : [])]
      },
    })
    return isMine ? after : null
  }

  return {
    async count(filter, asOf, howMany) {
      const { total, totalIsExact } = await countMatches(match, filter, asOf, howMany, undefined, sql.runtime)
      return { total, totalIsExact }
    },

    async preview(filter, asOf) {
      return describeMatches(sql, await countMatches(match, filter, asOf, 'enough', undefined, sql.runtime))
    },

    async advance(seen, limit = BATCH) {
      const { action, filter, asOf, actor, position } = seen
      const { ids, next } = position?.busy.length
        ? { ids: position.busy, next: position.next }
        : await match(filter, asOf, position?.next ?? null, Math.min(limit, BATCH))
      const now = await sql.now()
      const batch = ids.length > 0 ? { action, ids, asOf, by: actor.name } : null
      return writeDown(seen, batch, (acted) => afterBatch(seen, next, acted, now))
    },

    async fail(seen, error) {
      const now = await sql.now()
      return writeDown(seen, null, () => ({
        ...seen,
        status: 'failed',
        error,
        updated: now,
        finishedAt: now,
      }))
    },
  }
}

function save(operation: OperationRow): PortableStatement {
  const { id, status, done, skipped, total, totalIsExact, position, error, updated, finishedAt } = operation
  return {
    text: `update {operations} set status = ?, done = ?, skipped = ?, total = ?, total_is_exact = ?, position = ?,
        error = ?, updated = ?, finished_at = ? where id = ?`,
    values: [
      ...[status, done, JSON.stringify(skipped), total, totalIsExact, position && JSON.stringify(position)],
      ...[error && JSON.stringify(error), updated, finishedAt, id],
    ],
  }
}
