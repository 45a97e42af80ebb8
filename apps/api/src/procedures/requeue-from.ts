import { jobIdSchema } from '@oncue/core'
import { requeuedFromSchema, requeueFromRequestSchema } from '@oncue/core/wire'
import { restTicketSchema, ticketOf } from '../http/rest/shapes.ts'
import { actorOf } from './actor.ts'
import { auditJobs } from './audit-jobs.ts'
import { mutation } from './procedure.ts'

const { step } = requeueFromRequestSchema.shape

/** One job at a time: each has steps of its own, and what is repeated has effects. */
export const requeueFrom = mutation({
  access: 'act',
  input: requeueFromRequestSchema,
  output: requeuedFromSchema,
  async run(ctx, { id, step }) {
    await ctx.store.requeueFrom({ id, step, by: actorOf(ctx) })
    return { id, step }
  },
  audit: ({ id, step }) => auditJobs({ step, ids: [id] }, 1),
  rest: [
    {
      at: 'POST /api/jobs/:id/requeue-from',
      summary: 'Requeue a finished job that repeats a step and all after it, or everything',
      params: { id: jobIdSchema },
      fields: { step },
      example: { step: 'charge' },
      responses: { 200: restTicketSchema },
      errors: ['JOB_NOT_FOUND', 'INVALID_STATE', 'STEP_NOT_FOUND', 'UNIQUE_KEY_LIVE'],
      respond: async (_, { params, glance }) => ({ status: 200, body: await ticketOf(params.id, glance) }),
    },
  ],
})
