import { jobIdSchema, type NewJob, OncueError } from '@oncue/core'
import { refuseKeysOfNodes, toBatch, toFlow } from '@oncue/core/internal'
import {
  batchedSchema,
  batchRequestSchema,
  flowedSchema,
  flowRequestSchema,
  jobTreeSchema,
  restBatchRequestSchema,
  restFlowRequestSchema,
  toRest,
} from '@oncue/core/wire'
import { z } from 'zod'
import type { ApiContext } from '../context.ts'
import { BATCH_BODY } from '../http/body.ts'
import { restBody, restObject } from '../http/rest/shapes.ts'
import { auditJobs } from './audit-jobs.ts'
import { ENQUEUE_ERRORS, hasChanged, prepareAll } from './enqueue.ts'
import { mutation, query } from './procedure.ts'

const FLOW_ERRORS = ['BATCH_TOO_LARGE', ...ENQUEUE_ERRORS] as const

export const batch = mutation({
  access: 'enqueue',
  input: batchRequestSchema,
  output: batchedSchema,
  maxBody: BATCH_BODY,
  async run(ctx, { jobs, then, onFailure, isRepeat = false }) {
    const followers = Object.entries({ then, onFailure }).flatMap(([at, request]) =>
      request ? [[at, request] as const] : [],
    )
    const given = jobs.map((request, n) => [`jobs[${n}]`, request] as const)
    const prepared = await prepareAll(ctx, [...given, ...followers], isRepeat)
    const [afterAll, afterFailure] = [at(prepared, jobs.length, then), at(prepared, -1, onFailure)]
    const { ids, changed } = await store(ctx, toBatch(prepared.slice(0, jobs.length), afterAll, afterFailure))
    return {
      ids: ids.slice(0, jobs.length),
      thenId: then ? (ids[jobs.length] ?? null) : null,
      onFailureId: onFailure ? (ids.at(-1) ?? null) : null,
      changed,
    }
  },
  audit: (_, { ids, thenId, onFailureId }, __, { changed }) =>
    auditJobs({ ids: [thenId, onFailureId, ...ids].filter((id) => id !== null) }, changed),
  rest: [
    {
      at: 'POST /api/batches',
      summary: 'Enqueue jobs, and what runs when all have completed or some have not; all or none',
      body: restBatchRequestSchema,
      example: {
        jobs: [{ topic: 'mail_digest', payload: { userId: '123' } }],
        // biome-ignore lint/suspicious/noThenProperty: it is no function, so no promise takes it for one
        then: { topic: 'mail_digest', payload: { userId: '456' } },
      },
      responses: { 201: restObject(batchedSchema) },
      errors: FLOW_ERRORS,
      respond: (ids) => ({ status: 201, body: toRest(ids) }),
    },
  ],
})

export const flow = mutation({
  access: 'enqueue',
  input: flowRequestSchema,
  output: flowedSchema,
  maxBody: BATCH_BODY,
  async run(ctx, { nodes, edges, isRepeat = false }) {
    refuseKeysOfNodes(nodes, edges)
    const names = Object.keys(nodes)
    const given = Object.entries(nodes).map(([name, request]) => [`nodes.${name}`, request] as const)
    const prepared = await prepareAll(ctx, given, isRepeat)
    const jobs = names.map((name, n) => [name, prepared[n] as NewJob] as const)
    const { ids, changed } = await store(ctx, toFlow(new Map(jobs), edges))
    return { ids: Object.fromEntries(names.map((name, n) => [name, ids[n] ?? ''])), changed }
  },
  audit: (_, { ids }, __, { changed }) => auditJobs({ ids: Object.values(ids) }, changed),
  rest: [
    {
      at: 'POST /api/flows',
      summary: 'Enqueue jobs that wait for each other; all or none',
      body: restFlowRequestSchema,
      example: {
        nodes: {
          first: { topic: 'mail_digest', payload: { userId: '123' } },
          second: { topic: 'mail_digest', payload: { userId: '456' } },
        },
        edges: [['first', 'second']],
      },
      responses: { 201: flowedSchema },
      errors: ['DEPENDENCY_CYCLE', ...FLOW_ERRORS],
      respond: (body) => ({ status: 201, body }),
    },
  ],
})

export const tree = query({
  access: 'read',
  input: z.strictObject({ id: jobIdSchema }),
  output: jobTreeSchema,
  async run(ctx, { id }) {
    const tree = await ctx.store.tree(id)
    if (!tree) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
    return tree
  },
  rest: [
    {
      at: 'GET /api/jobs/:id/tree',
      summary: 'Read a job with all that it is connected to: parents, children, batches and flows',
      params: { id: jobIdSchema },
      responses: { 200: restObject(jobTreeSchema) },
      errors: ['JOB_NOT_FOUND'],
      respond: (tree) => ({ status: 200, body: restBody(jobTreeSchema, tree) }),
    },
  ],
})

function at(prepared: readonly NewJob[], index: number, request: unknown): NewJob | undefined {
  return request === undefined ? undefined : prepared.at(index)
}

async function store(ctx: ApiContext, jobs: readonly NewJob[]) {
  const stored = await ctx.enqueuer.storeAll(jobs)
  return { ids: stored.map(({ id }) => id), changed: stored.filter(hasChanged).length }
}
