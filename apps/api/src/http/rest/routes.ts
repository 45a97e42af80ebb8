import { type ErrorCode, jobIdSchema } from '@oncue/core'
import { restEnqueueRequestSchema, statsResponseSchema, toRest } from '@oncue/core/wire'
import * as alerts from '../../procedures/alerts.ts'
import * as jobs from '../../procedures/jobs.ts'
import * as topics from '../../procedures/topics.ts'
import { commandStatusOf, registryOf } from './commands.ts'
import { refuseUndone, ticketOf } from './one-job.ts'
import { type Route, route } from './route.ts'
import {
  alertQuery,
  commandSchema,
  commandStatusSchema,
  listQuery,
  registrySchema,
  restAlertPageSchema,
  restAlertSchema,
  restBatchAnswerSchema,
  restBatchSchema,
  restEnqueuedSchema,
  restJobPageSchema,
  restJobSchema,
  restTicketSchema,
  submittedSchema,
  toBatchAnswer,
  toListInput,
  toRestDetails,
} from './shapes.ts'

const byId = { id: jobIdSchema }
const asIds = ({ id }: Record<string, unknown>) => ({ ids: [id] })

const ENQUEUE_ERRORS: readonly ErrorCode[] = [
  'INVALID_TOPIC',
  'INVALID_QUEUE',
  'INVALID_PRIORITY',
  'INVALID_DATE',
  'INVALID_TEXT',
  'INVALID_PAYLOAD',
  'UNSAFE_NUMBER',
  'PAYLOAD_TOO_LARGE',
  'META_TOO_LARGE',
  'TOPIC_NOT_ALLOWED',
  'QUEUE_NOT_ALLOWED',
  'UNKNOWN_PARENT',
  'UNIQUE_KEY_LIVE',
]

/** Everything that REST offers, and all of it: the server, the OpenAPI document and the tests are made from this table. */
export const ROUTES: readonly Route[] = [
  route({
    at: 'POST /api/jobs/enqueue',
    summary: 'Enqueue a job',
    operation: jobs.enqueue,
    body: restEnqueueRequestSchema,
    example: { topic: 'mail_digest', payload: { userId: '123' }, maxRetries: 5 },
    idempotent: true,
    responses: { 201: restEnqueuedSchema },
    errors: ENQUEUE_ERRORS,
    answer: async ({ id, created, replaced }, { glance }) => ({
      status: 201,
      body: { ...(await ticketOf(id, glance)), is_new: created, replaced },
    }),
  }),
  route({
    at: 'POST /api/jobs/enqueue/batch',
    summary: 'Enqueue up to 1000 jobs; those that are wrong are reported, the others are stored',
    operation: jobs.enqueueMany,
    body: restBatchSchema,
    example: { jobs: [{ topic: 'mail_digest', payload: { userId: '123' } }, { topic: 'mail_digest' }] },
    responses: { 201: restBatchAnswerSchema, 207: restBatchAnswerSchema },
    // Of an atomic batch, those of its first job that is wrong.
    errors: ['BATCH_TOO_LARGE', 'DEPENDENCY_CYCLE', ...ENQUEUE_ERRORS],
    answer: (output) => ({ status: output.refused === 0 ? 201 : 207, body: toBatchAnswer(output) }),
  }),
  route({
    at: 'GET /api/jobs',
    summary: 'List jobs, the newest first',
    operation: jobs.list,
    query: listQuery,
    toInput: toListInput,
    responses: { 200: restJobPageSchema },
    errors: ['INVALID_TOPIC', 'INVALID_QUEUE', 'INVALID_CURSOR'],
    answer: ({ items, ...page }) => ({ status: 200, body: { items: items.map(toRest), ...toRest(page) } }),
  }),
  route({
    at: 'GET /api/jobs/stats',
    summary: 'Count jobs by status',
    operation: jobs.stats,
    query: { queue: listQuery.queue, topic: listQuery.topic },
    responses: { 200: statsResponseSchema },
    errors: ['INVALID_TOPIC', 'INVALID_QUEUE'],
    answer: ({ pending, processing, completed, failed, successRate, averageRunMs }) => ({
      status: 200,
      body: {
        pending,
        processing,
        completed,
        failed,
        success_rate: successRate,
        avg_execution_time: averageRunMs,
      },
    }),
  }),
  route({
    at: 'GET /api/jobs/:id',
    summary: 'Read a job, with its payload, its result and its first events',
    operation: jobs.get,
    params: byId,
    responses: { 200: restJobSchema },
    errors: ['JOB_NOT_FOUND'],
    answer: (job) => ({ status: 200, body: toRestDetails(job) }),
  }),
  route({
    at: 'DELETE /api/jobs/:id',
    summary: 'Delete a job that is pending or failed',
    operation: jobs.remove,
    params: byId,
    toInput: asIds,
    responses: { 204: null },
    errors: ['JOB_NOT_FOUND', 'INVALID_STATE'],
    refuse: refuseUndone('deleted', 'only pending and failed jobs can be'),
    answer: () => ({ status: 204 }),
  }),
  route({
    at: 'POST /api/jobs/:id/requeue',
    summary: 'Put a finished job back: its attempts start anew',
    operation: jobs.requeue,
    params: byId,
    toInput: asIds,
    responses: { 200: restTicketSchema },
    errors: ['JOB_NOT_FOUND', 'INVALID_STATE', 'UNIQUE_KEY_LIVE'],
    refuse: refuseUndone('requeued', 'only failed, cancelled and completed jobs can be'),
    answer: async (_, { params, glance }) => ({ status: 200, body: await ticketOf(params.id, glance) }),
  }),
  route({
    at: 'POST /api/jobs/:id/cancel',
    summary: 'End a job that waits, or ask the run of a job to stop',
    operation: jobs.cancel,
    params: byId,
    toInput: asIds,
    responses: { 200: restTicketSchema },
    errors: ['JOB_NOT_FOUND', 'INVALID_STATE', 'DATABASE_BUSY'],
    refuse: refuseUndone('cancelled', 'only jobs that are not finished can be'),
    answer: async (_, { params, glance }) => ({ status: 200, body: await ticketOf(params.id, glance) }),
  }),
  route({
    at: 'POST /api/commands/jobs',
    summary: 'Submit a command: a job whose topic is `app:command`',
    operation: jobs.enqueue,
    body: commandSchema,
    example: { app: 'open_notebook', command: 'embed_chunk', input: { source_id: 'source:abc123' } },
    idempotent: true,
    responses: { 202: submittedSchema },
    errors: ENQUEUE_ERRORS,
    answer: ({ id }, { body }) => {
      const { command } = body as { command: string }
      const message = `Command '${command}' submitted successfully`
      return { status: 202, body: { job_id: id, status: 'submitted', message } }
    },
  }),
  route({
    at: 'GET /api/commands/jobs/:id',
    summary: 'How far a command is',
    operation: jobs.get,
    params: byId,
    responses: { 200: commandStatusSchema },
    errors: ['JOB_NOT_FOUND'],
    answer: (job) => ({ status: 200, body: commandStatusOf(job) }),
  }),
  route({
    at: 'GET /api/alerts',
    summary: 'List alerts, those that fired last first',
    operation: alerts.list,
    query: alertQuery,
    responses: { 200: restAlertPageSchema },
    errors: ['INVALID_QUEUE', 'INVALID_CURSOR'],
    answer: ({ items, ...page }) => ({ status: 200, body: { items: items.map(toRest), ...toRest(page) } }),
  }),
  route({
    at: 'POST /api/alerts/:id/ack',
    summary: 'Say that you know: nobody is told again until it is resolved',
    operation: alerts.ack,
    params: byId,
    responses: { 200: restAlertSchema },
    errors: ['ALERT_NOT_FOUND', 'INVALID_STATE'],
    answer: (alert) => ({ status: 200, body: toRest(alert) }),
  }),
  route({
    at: 'GET /api/commands/registry/debug',
    summary: 'Which commands workers have announced',
    operation: topics.list,
    toInput: () => undefined,
    responses: { 200: registrySchema },
    answer: (announced) => ({ status: 200, body: registryOf(announced.map(({ topic }) => topic)) }),
  }),
]
