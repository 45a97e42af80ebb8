import { newJobId, OncueError } from '@oncue/core'
import { assertText } from '@oncue/core/internal'
import type { Page } from '@oncue/core/wire'
import type { BulkOperation } from '../generated/sqlite/client.ts'
import { assertBy, clean } from '../portable/audit.ts'
import {
  BULK_OPERATION_LEAD,
  type BulkOperationRequest,
  type BulkOperationRow,
  type BulkOperationStatus,
  type NewBulkOperation,
  type OperationPosition,
} from '../portable/bulk-operations.ts'
import { noOutcomes } from '../portable/bulk-outcomes.ts'
import { hashOf } from '../portable/reads/cursor.ts'
import type { JobFilter } from '../store.ts'
import { isUuid, readByIds } from '../uuid.ts'
import { type Context, jsonOrNothing } from './client.ts'
import { type Cursored, type Pruned, readPage } from './page.ts'

const OPEN_LIMIT = 1_000
const FORGET_AT_ONCE = 5_000

/** Has not ended. */
const isGoingOn = { in: ['canary', 'running'] }

/** Bulk operations, as people begin, list and stop them. */
export function createBulkOperations({ client, now }: Context) {
  async function get(id: string): Promise<BulkOperationRow | null> {
    const row = isUuid(id) ? await client.bulkOperation.findFirst({ where: { id } }) : null
    return row && toBulkOperation(row)
  }

  return {
    get,

    /** The operation that this key began; INVALID_INPUT if it was a different one. Null: none yet. */
    async begun(asked: BulkOperationRequest): Promise<BulkOperationRow | null> {
      const row = await client.bulkOperation.findUnique({ where: { actorId_idempotencyKey: keyOf(asked) } })
      return row && assertSame(toBulkOperation(row), asked)
    },

    /**
     * Of several with the same key, the first is stored and returned to all. INVALID_INPUT if that was a
     * different one.
     */
    async create(operation: NewBulkOperation, id?: string): Promise<BulkOperationRow> {
      const created = await now()
      const { action, filter, asOf, spreadMs, total, totalIsExact, actor, canary, stopWhenFailing } =
        operation
      const key = keyOf(operation)
      const row = await client.bulkOperation.upsert({
        where: { actorId_idempotencyKey: key },
        create: {
          ...key,
          id: id ?? newJobId(created.getTime()),
          action,
          // JSON has no dates.
          filter: JSON.parse(JSON.stringify(filter)),
          filterError: jsonOrNothing(operation.filterError),
          asOf,
          spreadMs,
          status: canary ? 'canary' : 'running',
          canary: jsonOrNothing(canary),
          stopWhenFailing: stopWhenFailing ?? null,
          outcomes: jsonOrNothing(noOutcomes(action)),
          total,
          totalIsExact,
          done: 0,
          skipped: {},
          step: 0,
          actorName: clean(actor.name),
          actorKind: clean(actor.kind),
          created,
          updated: created,
        },
        // Changes nothing. Without a field, Prisma would read first and then insert, and lose races.
        update: { actorId: key.actorId },
      })
      return assertSame(toBulkOperation(row), operation)
    },

    /** Ids that do not exist are left out. */
    async find(ids: readonly string[]): Promise<Map<string, BulkOperationRow>> {
      const rows = await readByIds(ids, (batch) =>
        client.bulkOperation.findMany({ where: { id: { in: batch } } }),
      )
      return new Map(rows.map((row) => [row.id, toBulkOperation(row)]))
    },

    /** Newest first. */
    async list(
      { status }: { readonly status?: BulkOperationStatus | undefined } = {},
      page: Cursored = {},
    ): Promise<Page<BulkOperationRow>> {
      return readPage(
        { status },
        page,
        toBulkOperation,
        ({ created }) => created,
        (after, take) =>
          client.bulkOperation.findMany({
            where: {
              ...(status && { status }),
              ...(after && {
                created: { lte: after.created },
                OR: [{ created: { lt: after.created } }, { id: { lt: after.id } }],
              }),
            },
            orderBy: [{ created: 'desc' }, { id: 'desc' }],
            take,
          }),
      )
    },

    /** Those that have not ended, the newest first. */
    async underWay(limit: number): Promise<BulkOperationRow[]> {
      const rows = await client.bulkOperation.findMany({
        where: { isOpen: true, status: isGoingOn },
        orderBy: [{ created: 'desc' }, { id: 'desc' }],
        take: limit,
      })
      return rows.map(toBulkOperation)
    },

    /** The ids of those that have not ended, then of those whose outcomes are still counted; together up to 1,000. */
    async open(): Promise<string[]> {
      const rows = await client.bulkOperation.findMany({
        where: { isOpen: true },
        orderBy: [{ finishedAt: { sort: 'asc', nulls: 'first' } }, { id: 'asc' }],
        take: OPEN_LIMIT,
        select: { id: true },
      })
      return rows.map(({ id }) => id)
    },

    /** What was done stays done. One that has ended stays as it is; BULK_OPERATION_NOT_FOUND for an id that does not exist. */
    async stop(id: string, by: string): Promise<BulkOperationRow> {
      assertBy(by)
      const time = await now()
      const data = { status: 'stopped', stoppedBy: by, updated: time, finishedAt: time }
      if (isUuid(id)) {
        // An operation that did nothing has no outcomes to follow.
        await client.bulkOperation.updateMany({
          where: { id, status: isGoingOn, done: 0 },
          data: { ...data, isOpen: false },
        })
        await client.bulkOperation.updateMany({ where: { id, status: isGoingOn }, data })
      }
      const stopped = await get(id)
      if (!stopped)
        throw new OncueError('BULK_OPERATION_NOT_FOUND', `There is no bulk operation ${JSON.stringify(id)}`)
      return stopped
    },

    /** Removes operations that ended before a time, the oldest first, one batch per call; returns how many. */
    async prune({ before, limit = 1_000 }: Pruned): Promise<number> {
      // A leader that died left its row behind if there was nothing left to lead.
      await client.leader.deleteMany({
        where: { name: { startsWith: BULK_OPERATION_LEAD }, until: { lt: before } },
      })
      const ended = await client.bulkOperation.findMany({
        where: { created: { lt: before }, finishedAt: { lt: before } },
        orderBy: [{ created: 'asc' }, { id: 'asc' }],
        take: limit,
        select: { id: true },
      })
      const ids = ended.map(({ id }) => id)
      const ofThem = { where: { operationId: { in: ids } }, limit: FORGET_AT_ONCE }
      while ((await client.bulkBatch.deleteMany(ofThem)).count === FORGET_AT_ONCE);
      const { count } = await client.bulkOperation.deleteMany({ where: { id: { in: ids } } })
      return count
    },
  }
}

function keyOf({ actor, idempotencyKey }: BulkOperationRequest) {
  assertText(idempotencyKey, 'idempotencyKey')
  return { actorId: clean(actor.id), idempotencyKey }
}

function assertSame(begun: BulkOperationRow, asked: BulkOperationRequest): BulkOperationRow {
  const essence = (operation: BulkOperationRow | BulkOperationRequest) => {
    const { action, filter, asOf, spreadMs, canary = null, stopWhenFailing = null } = operation
    return hashOf({ action, filter, asOf, spreadMs, canary, stopWhenFailing })
  }
  if (essence(begun) === essence(asked)) return begun
  const message = `idempotencyKey: ${JSON.stringify(asked.idempotencyKey)} began another operation, ${begun.id}`
  throw new OncueError('INVALID_INPUT', message, { hint: 'Use a new key for a new bulk operation.' })
}

function toBulkOperation(row: BulkOperation): BulkOperationRow {
  const { actorId, actorName, actorKind, idempotencyKey: _, filter, position, ...same } = row
  return {
    ...(same as Pick<BulkOperationRow, keyof typeof same>),
    filter: toFilter(filter as JobFilter),
    position: toPosition(position as OperationPosition | null),
    actor: { id: actorId, name: actorName, kind: actorKind },
  }
}

/** JSON has no dates. */
function toFilter({ createdFrom, createdTo, ...same }: JobFilter): JobFilter {
  return {
    ...same,
    ...(createdFrom && { createdFrom: new Date(createdFrom) }),
    ...(createdTo && { createdTo: new Date(createdTo) }),
  }
}

function toPosition(position: OperationPosition | null): OperationPosition | null {
  const next = position?.next
  return position && { ...position, next: next ? { ...next, created: new Date(next.created) } : null }
}
