import { jobIdSchema, OncueError } from '@oncue/core'
import { encodeAnswer } from '@oncue/core/internal'
import {
  answeredJobSchema,
  answerJobRequestSchema,
  type Question,
  questionSchema,
  questionsRequestSchema,
  timelineResponseSchema,
} from '@oncue/core/wire'
import { z } from 'zod'
import { JOB_BODY } from '../http/body.ts'
import { restBody, restObject, wholeNumber } from '../http/rest/shapes.ts'
import { maskerOf, unmaskedChecker } from '../masking/masker.ts'
import { showEvent } from '../masking/payload-changes.ts'
import { actorOf } from './actor.ts'
import { auditJobs } from './audit-jobs.ts'
import { queueChecker } from './own-queue.ts'
import { authorize, mutation, query } from './procedure.ts'

const { id, topic, limit } = questionsRequestSchema.shape
const { name, value, key } = answerJobRequestSchema.shape

/** Open questions of jobs. */
export const questions = query({
  access: 'read',
  input: questionsRequestSchema.default({ limit: 100 }),
  output: z.array(questionSchema),
  run: (ctx, filter) => ctx.store.questions(filter),
  rest: [
    {
      at: 'GET /api/questions',
      summary: 'List the open questions of jobs, the oldest first',
      query: { id, topic, limit: wholeNumber(limit.unwrap()).describe('default: 100') },
      responses: { 200: z.object({ items: z.array(restObject(questionSchema)) }) },
      errors: ['INVALID_TOPIC'],
      respond: (items) => ({
        status: 200,
        body: { items: items.map((question) => restBody(questionSchema, question)) },
      }),
    },
  ],
})

/** For people with the role that the question names, within the topics of their token. */
export const answer = mutation({
  access: 'act',
  input: answerJobRequestSchema,
  output: answeredJobSchema,
  maxBody: JOB_BODY,
  async run(ctx, { id, name, value, key }) {
    const text = encodeAnswer(value)
    const assertUnmasked = await unmaskedChecker(ctx)
    assertUnmasked(value, text)
    let asked: Question | undefined
    const check = async (question: Question) => {
      await ctx.auth.assertTopic(ctx.principal, question.topic)
      const assertQueue = await queueChecker(ctx)
      assertQueue(question.queue)
      if (question.role === 'admin') await authorize(ctx, 'admin')
      ctx.payloads.checkAnswer(question, value)
      asked = question
    }
    await ctx.store.durable.answer({ id, name, value: text, by: actorOf(ctx), key, check })
    return { id, name, asked }
  },
  // Sent again, it changed nothing.
  audit: ({ id, name }, _, __, { asked }) =>
    asked ? auditJobs({ topic: asked.topic, queue: asked.queue, question: name, ids: [id] }, 1) : null,
  rest: [
    {
      at: 'POST /api/jobs/:id/answers/:name',
      summary: 'Answer an open question of a job; the body is the answer, any JSON',
      params: { id: jobIdSchema, name },
      fields: { value, key },
      bodyField: 'value',
      idempotent: 'key',
      example: { ok: true },
      responses: { 202: answeredJobSchema },
      errors: [
        ...(['JOB_NOT_FOUND', 'JOB_FINISHED', 'NOT_ASKED', 'ALREADY_ANSWERED'] as const),
        ...(['QUESTION_TIMED_OUT', 'INVALID_ANSWER', 'INVALID_TEXT', 'UNSAFE_NUMBER'] as const),
        ...(['PAYLOAD_TOO_LARGE', 'TOPIC_NOT_ALLOWED', 'QUEUE_NOT_ALLOWED'] as const),
      ],
      respond: (body) => ({ status: 202, body }),
    },
  ],
})

/** What happened to a job and what it waits for, in one order. */
export const timeline = query({
  access: 'read',
  input: z.strictObject({ id: jobIdSchema }),
  output: timelineResponseSchema,
  async run(ctx, { id }) {
    const found = await ctx.store.timeline(id)
    if (!found) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
    const mask = await maskerOf(ctx)
    // What the handler and people wrote; not what Oncue calls it.
    const { value, masked } = mask({ entries: found.entries.map(({ data }) => ({ data })) }, ['entries'])
    const entries = found.entries.map((entry, n) => {
      const data = value.entries[n]?.data
      const type = entry.kind === 'event' ? entry.name : null
      return { ...entry, data: type === null ? data : showEvent(mask, { type, data }).data }
    })
    return { ...found, entries, masked }
  },
  rest: [
    {
      at: 'GET /api/jobs/:id/timeline',
      summary: 'Read what happened to a job and what it waits for, in one order',
      params: { id: jobIdSchema },
      responses: { 200: restObject(timelineResponseSchema) },
      errors: ['JOB_NOT_FOUND'],
      respond: (body) => ({ status: 200, body: restBody(timelineResponseSchema, body) }),
    },
  ],
})
