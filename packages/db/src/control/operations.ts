import { newJobId, OncueError } from '@oncue/core'
import { assertText } from '@oncue/core/internal'
import type { Operation } from '../generated/sqlite/client.ts'
import { assertBy, clean } from '../portable/audit.ts'
import {
  OPERATION_LEAD,
  type OperationControl,
  type OperationPosition,
  type OperationRequest,
  type OperationRow,
} from '../portable/bulk-operations.ts'
import { assertPageSize, decodeCursor, encodeCursor, hashOf } from '../portable/reads/cursor.ts'
import type { JobFilter } from '../store.ts'
import { isUuid } from '../uuid.ts'
import { type Context, jsonOf } from './client.ts'

const RUNNING_LIMIT = 1_000

export function createOperations({ client, now }: Context): OperationControl {
  async function get(id: string): Promise<OperationRow | null> {
    const row = isUuid(id) ? await client.operation.findUnique({ where: { id } }) : null
    return row && toOperation(row)
  }

  return {
    get,

    async begun(asked) {
      const row = await client.operation.findUnique({ where: { actorId_idempotencyKey: keyOf(asked) } })
      return row && assertSame(toOperation(row), asked)
    },

    async create(operation, id) {
      const created = await now()
      const { action, filter, asOf, spreadMs, total, totalIsExact, actor } = operation
      const key = keyOf(operation)
      const row = await client.operation.upsert({
        where: { actorId_idempotencyKey: key },
        create: {
          ...key,
          id: id ?? newJobId(created.getTime()),
          action,
          filter: jsonOf(JSON.stringify(filter)),
          asOf,
          spreadMs,
          status: 'running',
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
      return assertSame(toOperation(row), operation)
    },

    async find(ids) {
      const rows = await client.operation.findMany({ where: { id: { in: ids.filter(isUuid) } } })
      return new Map(rows.map((row) => [row.id, toOperation(row)]))
    },

    async list({ status } = {}, { limit = 50, cursor } = {}) {
      assertPageSize(limit)
      const after = cursor === undefined ? null : decodeCursor(cursor, { status })
      const rows = await client.operation.findMany({
        where: {
          ...(status && { status }),
          ...(after && {
            created: { lte: after.created },
            OR: [{ created: { lt: after.created } }, { id: { lt: after.id } }],
          }),
        },
        orderBy: [{ created: 'desc' }, { id: 'desc' }],
        take: limit + 1,
      })
      const items = rows.slice(0, limit).map(toOperation)
      const last = items.at(-1)
      return { items, nextCursor: last && rows.length > limit ? encodeCursor(last, { status }) : null }
    },

    async running() {
      const rows = await client.operation.findMany({
        where: { status: 'running' },
        orderBy: { id: 'asc' },
        take: RUNNING_LIMIT,
        select: { id: true },
      })
      return rows.map(({ id }) => id)
    },

    async stop(id, by) {
      assertBy(by)
      const time = await now()
      if (isUuid(id))
        await client.operation.updateMany({
          where: { id, status: 'running' },
          data: { status: 'stopped', stoppedBy: by, updated: time, finishedAt: time },
        })
      const stopped = await get(id)
      if (!stopped) throw new OncueError('OPERATION_NOT_FOUND', `There is no operation ${JSON.stringify(id)}`)
      return stopped
    },

    async prune({ before, limit = 1_000 }) {
      // A leader that died leaves its row if nothing was left to lead.
      await client.leader.deleteMany({
        where: { name: { startsWith: OPERATION_LEAD }, until: { lt: before } },
      })
      const ended = await client.operation.findMany({
        where: { created: { lt: before }, finishedAt: { lt: before } },
        orderBy: [{ created: 'asc' }, { id: 'asc' }],
        take: limit,
        select: { id: true },
      })
      const ids = ended.map(({ id }) => id)
      const { count } = await client.operation.deleteMany({ where: { id: { in: ids } } })
      return count
    },
  }
}

function keyOf({ actor, idempotencyKey }: OperationRequest) {
  assertText(idempotencyKey, 'idempotencyKey')
  return { actorId: clean(actor.id), idempotencyKey }
}

function assertSame(begun: OperationRow, asked: OperationRequest): OperationRow {
  const essence = ({ action, filter, asOf, spreadMs }: OperationRow | OperationRequest) =>
    hashOf({ action, filter, asOf, spreadMs })
  if (essence(begun) === essence(asked)) return begun
  const message = `idempotencyKey: ${JSON.stringify(asked.idempotencyKey)} began another operation, ${begun.id}`
  throw new OncueError('INVALID_INPUT', message, { hint: 'Use a new key for a new operation.' })
}

function toOperation(row: Operation): OperationRow {
  const { actorId, actorName, actorKind, idempotencyKey: _, filter, position, ...same } = row
  return {
    ...(same as Pick<OperationRow, keyof typeof same>),
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
