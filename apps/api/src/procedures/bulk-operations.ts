import { newJobId, OncueError } from '@oncue/core'
import { canAct } from '@oncue/core/internal'
import {
  type BulkAction,
  bulkOperationPageSchema,
  bulkOperationRequestSchema,
  bulkOperationSchema,
  idRequestSchema,
  listBulkOperationsRequestSchema,
  previewRequestSchema,
  previewSchema,
  watchBulkOperationRequestSchema,
} from '@oncue/core/wire'
import type { BulkOperationRow, JobFilter } from '@oncue/db'
import { assertExpected } from '../bulk/expected.ts'
import type { ApiContext } from '../context.ts'
import { watchBulkOperation } from '../live/watch-bulk-operation.ts'
import { assertMayFilterBy, maskerOf, maskFilter } from '../masking/masker.ts'
import { actorOf } from './actor.ts'
import { assertMayAct } from './own-queue.ts'
import { mutation, query, subscription } from './procedure.ts'
import { search } from './search-budget.ts'

export const bulkOperations = {
  preview: query({
    access: 'read',
    input: previewRequestSchema,
    output: previewSchema,
    async run(ctx, { action, filter, asOf: given }) {
      const now = await ctx.store.now()
      const asOf = given ?? now
      await assertPossible(ctx, { action, filter, asOf }, now)
      const { total, totalIsExact, ...found } = await search(ctx, () =>
        ctx.store.bulkOperations.preview(filter, asOf),
      )
      return { asOf, count: total, countIsExact: totalIsExact, ...found }
    },
  }),

  run: mutation({
    access: 'act',
    input: bulkOperationRequestSchema,
    output: bulkOperationSchema,
    async run(ctx, { expectedCount, spreadSeconds, ...asked }) {
      const { bulkOperations } = ctx.control
      const now = await ctx.store.now()
      await assertPossible(ctx, asked, now)
      const { id: actorId, kind } = ctx.principal
      const actor = { id: actorId, name: actorOf(ctx), kind }
      const request = { ...asked, spreadMs: spreadSeconds * 1_000, actor }
      const toWire = await presenter(ctx)
      // Jobs that it has already changed no longer match the filter.
      const begun = await bulkOperations.begun(request)
      if (begun) return { ...toWire(begun), isNew: false }
      const counted = await search(ctx, () =>
        ctx.store.bulkOperations.count(asked.filter, asked.asOf, spreadSeconds > 0 ? 'all' : 'enough'),
      )
      assertExpected(counted, expectedCount)
      const id = newJobId(now.getTime())
      const operation = await bulkOperations.create({ ...request, ...counted }, id)
      return { ...toWire(operation), isNew: operation.id === id }
    },
    // A repeated key started nothing new.
    audit: ({ action, filter, asOf, spreadSeconds }, { id, total }, _, { isNew }) =>
      isNew ? { target: { id, action, filter, asOf, spreadSeconds }, count: total } : null,
    afterwards: ({ bulk }, { id }) => bulk.begin(id),
  }),

  get: query({
    access: 'read',
    input: idRequestSchema,
    output: bulkOperationSchema,
    async run(ctx, { id }) {
      const operation = await ctx.control.bulkOperations.get(id)
      if (!operation) throw new OncueError('BULK_OPERATION_NOT_FOUND', `There is no bulk operation ${id}`)
      const toWire = await presenter(ctx)
      return toWire(operation)
    },
  }),

  list: query({
    access: 'read',
    input: listBulkOperationsRequestSchema.default({ limit: 50 }),
    output: bulkOperationPageSchema,
    async run(ctx, { status, ...page }) {
      const { items, nextCursor } = await ctx.control.bulkOperations.list({ status }, page)
      return { items: items.map(await presenter(ctx)), nextCursor }
    },
  }),

  stop: mutation({
    access: 'act',
    input: idRequestSchema,
    output: bulkOperationSchema,
    async run(ctx, { id }) {
      const toWire = await presenter(ctx)
      return toWire(await ctx.control.bulkOperations.stop(id, actorOf(ctx)))
    },
    audit: ({ id }, { action, status, skipped, done }) => ({
      target: { id, action, status, skipped },
      count: done,
    }),
  }),

  watch: subscription({
    access: 'read',
    input: watchBulkOperationRequestSchema,
    output: bulkOperationSchema,
    async *watch(ctx, { id: operationId, lastEventId }, signal) {
      const toWire = await presenter(ctx)
      const changes = watchBulkOperation(ctx.live.bulkOperations, operationId, lastEventId, signal)
      for await (const { id, operation } of changes) yield { id, message: toWire(operation) }
    },
  }),
}

/** As the caller may see it: a filter may name values that are masked for the caller. */
async function presenter(ctx: ApiContext) {
  const mask = await maskerOf(ctx)
  return ({ spreadMs, actor: { id, name }, ...operation }: BulkOperationRow) => {
    const filter = maskFilter(mask, operation.filter)
    return { ...operation, filter, spreadSeconds: spreadMs / 1_000, by: { id, name } }
  }
}

interface Asked {
  readonly action: BulkAction
  readonly filter: JobFilter
  readonly asOf: Date
}

async function assertPossible(ctx: ApiContext, { action, filter, asOf }: Asked, now: Date): Promise<void> {
  await assertMayFilterBy(ctx, filter)
  await assertMayAct(ctx, action, filter)
  const { status } = filter
  if (status && !canAct(action, status))
    throw new OncueError('INVALID_INPUT', `input.filter.status: ${status} jobs cannot be ${DONE[action]}`)
  // A later time would include jobs that fail from now on.
  if (asOf > now)
    throw new OncueError('INVALID_INPUT', `input.asOf: must not be in the future, got ${asOf.toISOString()}`)
}

const DONE: Record<BulkAction, string> = {
  requeue: 'requeued',
  run_now: 'run now',
  cancel: 'cancelled',
  delete: 'deleted',
}
