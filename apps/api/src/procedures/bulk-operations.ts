import { jobIdSchema, newJobId, OncueError } from '@oncue/core'
import { canAct } from '@oncue/core/internal'
import {
  type BulkAction,
  type BulkOperationRequest,
  bulkOperationPageSchema,
  bulkOperationRequestSchema,
  bulkOperationSchema,
  idRequestSchema,
  isPendingKind,
  listBulkOperationsRequestSchema,
  previewRequestSchema,
  previewSchema,
  restBulkOperationRequestSchema,
  restPreviewRequestSchema,
  toRest,
  wantedStates,
  watchBulkOperationRequestSchema,
} from '@oncue/core/wire'
import type { BulkOperationRow, JobFilter } from '@oncue/db'
import { assertExpected } from '../bulk/expected.ts'
import type { ApiContext } from '../context.ts'
import {
  bulkQuery,
  restBody,
  restBulkOperationPageSchema,
  restBulkOperationSchema,
  restPreviewSchema,
  toRestBulkOperation,
} from '../http/rest/shapes.ts'
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
    rest: [
      {
        at: 'POST /api/bulk/preview',
        summary: 'Count the jobs that a bulk operation would touch, and say what they are',
        body: restPreviewRequestSchema,
        example: { action: 'requeue', filter: { status: 'failed', topic: 'mail_digest' } },
        responses: { 200: restPreviewSchema },
        errors: ['INVALID_TOPIC', 'INVALID_QUEUE'],
        respond: (preview) => ({ status: 200, body: restBody(previewSchema, preview) }),
      },
    ],
  }),

  run: mutation({
    access: 'act',
    input: bulkOperationRequestSchema,
    output: bulkOperationSchema,
    async run(ctx, { expectedCount, spreadSeconds, ...asked }) {
      const { bulkOperations } = ctx.control
      assertCanTell(asked)
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
    audit: (asked, { id, total, filterError }, _, { isNew }) => {
      const { action, filter, asOf, spreadSeconds, canary, stopWhenFailing } = asked
      const matched = { filter, ...(filterError && { filterError }) }
      const target = { id, action, ...matched, asOf, spreadSeconds, canary, stopWhenFailing }
      return isNew ? { target, count: total } : null
    },
    afterwards: ({ bulk }, { id }) => bulk.begin(id),
    rest: [
      {
        at: 'POST /api/bulk',
        summary: 'Start a bulk operation, with the count and the moment of its preview',
        body: restBulkOperationRequestSchema,
        example: {
          action: 'requeue',
          filter: { status: 'failed', topic: 'mail_digest' },
          as_of: '2026-01-08T12:00:00Z',
          expected_count: 312,
          idempotency_key: 'b7e2c1',
          canary: { count: 5, max_failed: 0 },
        },
        idempotent: 'idempotencyKey',
        responses: { 202: restBulkOperationSchema },
        errors: ['INVALID_TOPIC', 'INVALID_QUEUE', 'COUNT_MISMATCH'],
        respond: (operation) => ({ status: 202, body: toRestBulkOperation(operation) }),
      },
    ],
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
    rest: [
      {
        at: 'GET /api/bulk/:id',
        summary: 'Read a bulk operation: its progress, and what became of its jobs',
        params: { id: jobIdSchema },
        responses: { 200: restBulkOperationSchema },
        errors: ['BULK_OPERATION_NOT_FOUND'],
        respond: (operation) => ({ status: 200, body: toRestBulkOperation(operation) }),
      },
    ],
  }),

  list: query({
    access: 'read',
    input: listBulkOperationsRequestSchema.default({ limit: 50 }),
    output: bulkOperationPageSchema,
    async run(ctx, { status, ...page }) {
      const { items, nextCursor } = await ctx.control.bulkOperations.list({ status }, page)
      return { items: items.map(await presenter(ctx)), nextCursor }
    },
    rest: [
      {
        at: 'GET /api/bulk',
        summary: 'List bulk operations, the newest first',
        query: bulkQuery,
        responses: { 200: restBulkOperationPageSchema },
        errors: ['INVALID_CURSOR'],
        respond: ({ items, ...page }) => ({
          status: 200,
          body: { items: items.map(toRestBulkOperation), ...toRest(page) },
        }),
      },
    ],
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
    rest: [
      {
        at: 'POST /api/bulk/:id/stop',
        summary: 'Stop a bulk operation after its current batch',
        params: { id: jobIdSchema },
        responses: { 200: restBulkOperationSchema },
        errors: ['BULK_OPERATION_NOT_FOUND'],
        respond: (operation) => ({ status: 200, body: toRestBulkOperation(operation) }),
      },
    ],
  }),

  watch: subscription({
    access: 'read',
    input: watchBulkOperationRequestSchema,
    output: bulkOperationSchema,
    async *watch(ctx, { id: operationId, lastEventId, outcomes }, signal) {
      const toWire = await presenter(ctx)
      const changes = watchBulkOperation(
        ctx.live.bulkOperations,
        operationId,
        { lastSeen: lastEventId, outcomes },
        signal,
      )
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
  const states = wantedStates(filter)?.map((state) => (isPendingKind(state) ? 'pending' : state))
  if (states && !states.some((state) => canAct(action, state))) {
    const message = `input.filter.status: ${[...new Set(states)].join(' and ')} jobs cannot be ${DONE[action]}`
    throw new OncueError('INVALID_INPUT', message)
  }
  // A later time would include jobs that fail from now on.
  if (asOf > now)
    throw new OncueError('INVALID_INPUT', `input.asOf: must not be in the future, got ${asOf.toISOString()}`)
}

/** A canary and a limit need outcomes, which only jobs have that are to run. */
function assertCanTell({
  action,
  canary,
  stopWhenFailing,
}: Pick<BulkOperationRequest, 'action' | 'canary' | 'stopWhenFailing'>): void {
  if (canary && canary.maxFailed >= canary.count)
    throw new OncueError('INVALID_INPUT', 'input.canary.maxFailed: must be less than canary.count')
  if (action === 'requeue' || action === 'run_now') return
  if (canary) throw new OncueError('INVALID_INPUT', `input.canary: a ${action} has no outcome to wait for`)
  if (stopWhenFailing !== undefined)
    throw new OncueError('INVALID_INPUT', `input.stopWhenFailing: a ${action} has no outcome to wait for`)
}

const DONE: Record<BulkAction, string> = {
  requeue: 'requeued',
  run_now: 'run now',
  cancel: 'cancelled',
  delete: 'deleted',
}
