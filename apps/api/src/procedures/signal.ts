import { isOncueError, type JobId, jobIdSchema, OncueError } from '@oncue/core'
import { encodeSignal } from '@oncue/core/internal'
import { signalJobRequestSchema, signalledJobSchema } from '@oncue/core/wire'
import type { JobDetails } from '@oncue/db'
import type { ApiContext } from '../context.ts'
import { JOB_BODY } from '../http/body.ts'
import { unmaskedChecker } from '../masking/masker.ts'
import { auditJobs } from './audit-jobs.ts'
import { queueChecker } from './own-queue.ts'
import { authorize, mutation } from './procedure.ts'

const { name, data, key } = signalJobRequestSchema.shape

/** For callers who could have enqueued the job. */
export const signal = mutation({
  access: 'enqueue',
  input: signalJobRequestSchema,
  output: signalledJobSchema,
  maxBody: JOB_BODY,
  async run(ctx, { id, name, data, key }) {
    const job = await ctx.store.get(id)
    if (!job) throw notFound(id)
    await assertMaySend(ctx, job)
    const text = encodeSignal(data)
    const assertUnmasked = await unmaskedChecker(ctx)
    assertUnmasked(data, text)
    await ctx.payloads.checkSignal(job.topic, name, data)
    await ctx.store.durable.signal({ id, name, data: text, key })
    return { id, name, topic: job.topic, queue: job.queue }
  },
  audit: ({ id, name }, _, __, { topic, queue }) => auditJobs({ topic, queue, signal: name, ids: [id] }, 1),
  rest: [
    {
      at: 'POST /api/jobs/:id/signals/:name',
      summary: 'Send a signal to a live job; the body is its data, any JSON',
      params: { id: jobIdSchema, name },
      fields: { data, key },
      bodyField: 'data',
      idempotent: 'key',
      example: { ok: true },
      responses: { 202: signalledJobSchema },
      errors: [
        ...([
          'JOB_NOT_FOUND',
          'JOB_FINISHED',
          'TOO_MANY_SIGNALS',
          'UNKNOWN_SIGNAL',
          'INVALID_SIGNAL',
        ] as const),
        ...(['INVALID_TEXT', 'UNSAFE_NUMBER', 'PAYLOAD_TOO_LARGE'] as const),
        ...(['TOPIC_NOT_ALLOWED', 'QUEUE_NOT_ALLOWED'] as const),
      ],
      respond: (body) => ({ status: 202, body }),
    },
  ],
})

/** As by an enqueue. A caller who may not see jobs does not learn of others. */
async function assertMaySend(ctx: ApiContext, { id, topic, queue }: JobDetails): Promise<void> {
  try {
    await ctx.auth.assertTopic(ctx.principal, topic)
    const assertQueue = await queueChecker(ctx)
    assertQueue(queue)
  } catch (error) {
    const isHidden = isOncueError(error) && !error.retryable && (await authorize(ctx, 'own')) !== 'read'
    throw isHidden ? notFound(id) : error
  }
}

function notFound(id: JobId): OncueError {
  return new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
}
