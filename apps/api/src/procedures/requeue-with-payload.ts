import { jobIdSchema, OncueError } from '@oncue/core'
import { encodeJson } from '@oncue/core/internal'
import {
  diffJson,
  isoDateSchema,
  requeuedWithPayloadSchema,
  requeueWithPayloadRequestSchema,
} from '@oncue/core/wire'
import type { JobDetails } from '@oncue/db'
import type { ApiContext } from '../context.ts'
import { JOB_BODY } from '../http/body.ts'
import { restTicketSchema, ticketOf } from '../http/rest/shapes.ts'
import { maskOfOthers, unmaskedChecker } from '../masking/masker.ts'
import { keptChanges, pathsOf } from '../masking/payload-changes.ts'
import { actorOf } from './actor.ts'
import { auditJobs } from './audit-jobs.ts'
import { queueChecker } from './own-queue.ts'
import { mutation } from './procedure.ts'

const { run, updated, payload } = requeueWithPayloadRequestSchema.shape

/** Changes that an audit entry and the job's event name. */
const MAX_CHANGES = 20

export const requeueWithPayload = mutation({
  access: 'edit',
  input: requeueWithPayloadRequestSchema,
  output: requeuedWithPayloadSchema,
  maxBody: JOB_BODY,
  async run(ctx, { id, run, updated, payload }) {
    const job = await ctx.store.get(id)
    if (!job) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
    const text = await checkPayload(ctx, job, payload)
    // What is stored is what the text says, not what was given.
    const { changes: found, more } = diffJson(job.payload, JSON.parse(text), MAX_CHANGES)
    // All that the audit entry needs is there before the job is changed: no change goes without its entry.
    const changes = keptChanges(await maskOfOthers(ctx), found)
    const changed = pathsOf(changes)
    await ctx.store.requeueWithPayload({ id, run, updated, payload: text, by: actorOf(ctx), paths: changed })
    const { topic, queue } = job
    return { id, changed, changes, more, topic, queue }
  },
  audit: ({ id }, _, __, { topic, queue, changes, more }) =>
    auditJobs({ topic, queue, changes, more, ids: [id] }, 1),
  rest: [
    {
      at: 'POST /api/jobs/:id/requeue-with-payload',
      summary: 'Requeue a finished or retrying job with another payload, if it is as it was read',
      params: { id: jobIdSchema },
      fields: { run, updated: isoDateSchema.pipe(updated), payload },
      responses: { 200: restTicketSchema },
      errors: [
        ...(['JOB_NOT_FOUND', 'JOB_CHANGED', 'INVALID_STATE', 'UNIQUE_KEY_LIVE', 'INVALID_PAYLOAD'] as const),
        ...(['INVALID_TEXT', 'UNSAFE_NUMBER', 'PAYLOAD_TOO_LARGE'] as const),
        ...(['TOPIC_NOT_ALLOWED', 'QUEUE_NOT_ALLOWED'] as const),
      ],
      respond: async (_, { params, glance }) => ({ status: 200, body: await ticketOf(params.id, glance) }),
    },
  ],
})

/** As by an enqueue of this topic into this queue. Returns the JSON to store. */
async function checkPayload(
  ctx: ApiContext,
  { topic, queue }: JobDetails,
  payload: unknown,
): Promise<string> {
  await ctx.auth.assertTopic(ctx.principal, topic)
  const assertQueue = await queueChecker(ctx)
  assertQueue(queue)
  const text = encodeJson(payload, 'payload')
  const assertUnmasked = await unmaskedChecker(ctx)
  assertUnmasked(payload, text)
  const { payloadValidation } = await ctx.settings.get()
  await ctx.payloads.check(topic, payload, payloadValidation)
  return text
}
