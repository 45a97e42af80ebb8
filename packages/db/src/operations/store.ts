import { newJobId, OncueError } from '@oncue/core'
import { assertText } from '@oncue/core/internal'
import { clean, insertEntries } from '../access/audit.ts'
import { type Acted, type ActionBatch, BATCH } from '../actions.ts'
import { assertBy } from '../by.ts'
import {
  type NewOperation,
  OPERATION_LEAD,
  type OperationRequest,
  type OperationRow,
  type OperationStore,
} from '../operations.ts'
import { decodeCursor, encodeCursor } from '../reads/cursor.ts'
import type { PortableStatement, Sql, Value } from '../sql.ts'
import { isUuid } from '../uuid.ts'
import { afterBatch, endEntry } from './account.ts'
import { countMatches, describeMatches, type Match } from './matches.ts'
import { isSameRequest, readOperation, type StoredOperation } from './rows.ts'

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

const RUNNING_LIMIT = 1_000

/** Written once for both databases. */
export function createOperations(sql: Sql, { match, act }: Host): OperationStore {
  async function read(where: string, values: readonly Value[]): Promise<OperationRow[]> {
    const rows = await sql.all<StoredOperation>({ text: `select * from {operations} where ${where}`, values })
    return rows.map((row) => readOperation(sql, row))
  }

  async function get(id: string): Promise<OperationRow | null> {
    const [row] = isUuid(id) ? await read('id = ?', [id]) : []
    return row ?? null
  }

  async function begun(asked: OperationRequest): Promise<OperationRow | null> {
    const { actor, idempotencyKey } = asked
    assertText(idempotencyKey, 'idempotencyKey')
    const [row] = await read('actor_id = ? and idempotency_key = ?', [clean(actor.id), idempotencyKey])
    if (row && !isSameRequest(row, asked)) {
      const message = `idempotencyKey: ${JSON.stringify(idempotencyKey)} began another operation, ${row.id}`
      throw new OncueError('INVALID_INPUT', message, { hint: 'Use a new key for a new operation.' })
    }
    return row ?? null
  }

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
    begun,
    get,

    async count(filter, asOf, howMany) {
      const { total, totalIsExact } = await countMatches(match, filter, asOf, howMany)
      return { total, totalIsExact }
    },

    async preview(filter, asOf) {
      return describeMatches(sql, await countMatches(match, filter, asOf))
    },

    async create(operation, id) {
      const now = await sql.now()
      await sql.run(insert(id ?? newJobId(now.getTime()), operation, now))
      const created = await begun(operation)
      if (!created) throw new OncueError('INTERNAL', 'The operation was not stored')
      return created
    },

    async find(ids) {
      const known = ids.filter(isUuid)
      if (known.length === 0) return new Map()
      const rows = await read(`id in (${known.map(() => '?').join(', ')})`, known)
      return new Map(rows.map((row) => [row.id, row]))
    },

    async list({ status } = {}, { limit = 50, cursor } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
        throw new OncueError('INVALID_INPUT', `limit must be from 1 to 1000, got ${String(limit)}`)
      const conditions = ['1 = 1']
      const values: Value[] = []
      if (status !== undefined) {
        conditions.push('status = ?')
        values.push(status)
      }
      if (cursor !== undefined) {
        const { created, id } = decodeCursor(cursor, { status })
        conditions.push('(created, id) < (?, ?)')
        values.push(created, id)
      }
      const where = `${conditions.join(' and ')} order by created desc, id desc limit ${limit + 1}`
      const rows = await read(where, values)
      const items = rows.slice(0, limit)
      const last = items.at(-1)
      return { items, nextCursor: last && rows.length > limit ? encodeCursor(last, { status }) : null }
    },

    async running() {
      const rows = await sql.all<{ id: string }>({
        text: `select id from {operations} where status = 'running' order by id limit ${RUNNING_LIMIT}`,
      })
      return rows.map(({ id }) => id)
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

    async stop(id, by) {
      assertBy(by)
      const now = await sql.now()
      if (isUuid(id)) {
        await sql.run({
          text: `update {operations} set status = 'stopped', stopped_by = ?, updated = ?, finished_at = ?
            where id = ? and status = 'running'`,
          values: [by, now, now, id],
        })
      }
      const stopped = await get(id)
      if (!stopped) throw new OncueError('OPERATION_NOT_FOUND', `There is no operation ${JSON.stringify(id)}`)
      return stopped
    },

    prune({ before, limit = 1_000 }) {
      return sql.run(
        // Of leaders that died and had nobody after them, because what they led was stopped.
        {
          text: 'delete from {leaders} where name like ? and until < ?',
          values: [`${OPERATION_LEAD}%`, before],
        },
        {
          text: `delete from {operations} where id in (
            select id from {operations} where created < ? and finished_at < ? order by created, id limit ?)`,
          values: [before, before, limit],
        },
      )
    },
  }
}

/** If the key is new. */
function insert(id: string, operation: NewOperation, now: Date): PortableStatement {
  const { action, filter, asOf, spreadMs, idempotencyKey, total, totalIsExact, actor } = operation
  return {
    text: `insert into {operations}
        (id, action, filter, as_of, spread_ms, idempotency_key, status, total, total_is_exact, done, skipped, step,
         actor_id, actor_name, actor_kind, created, updated)
      values (?, ?, ?, ?, ?, ?, 'running', ?, ?, 0, '{}', 0, ?, ?, ?, ?, ?)
      on conflict (actor_id, idempotency_key) do nothing`,
    values: [
      ...[id, action, JSON.stringify(filter), asOf, spreadMs, idempotencyKey, total, totalIsExact],
      ...[clean(actor.id), clean(actor.name), clean(actor.kind), now, now],
    ],
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
