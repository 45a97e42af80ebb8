import { type Job, type JobStatus, jobIdSchema } from '@oncue/core'
import { topicSchema } from '@oncue/core/internal'
import { jobSchema } from '@oncue/core/wire'
import { z } from 'zod'

// A command is a job with the topic `app:command`, in the vocabulary of command queues.

const commandNameSchema = z
  .string()
  .max(126)
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_./-]*$/, 'must consist of letters, digits and _ . - /')

const commandFields = z.strictObject({
  app: commandNameSchema,
  command: commandNameSchema,
  input: z.unknown().optional(),
  idempotencyKey: z.string().min(1).max(255).optional(),
})

export const commandSchema = commandFields
  .refine(({ app, command }) => topicSchema.safeParse(`${app}:${command}`).success, {
    path: ['command'],
    error: 'is too long: together with the app at most 127 characters',
  })
  .transform(({ app, command, input, idempotencyKey }) => ({
    topic: `${app}:${command}`,
    payload: input,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }))

export const submittedSchema = z.object({
  job_id: jobIdSchema,
  status: z.literal('submitted'),
  message: z.string(),
})

const { result, created, updated, progress } = jobSchema.shape

export const commandStatusSchema = z.object({
  job_id: jobIdSchema,
  status: z.enum(['queued', 'running', 'completed', 'failed']).describe('a cancelled job counts as failed'),
  result,
  error_message: z.string().nullable(),
  created,
  updated,
  progress,
})

export const registrySchema = z.object({
  total_commands: z.int(),
  commands_by_app: z
    .record(z.string(), z.array(z.string()))
    .describe('what workers announced; topics without an app are under ""'),
})

type CommandStatus = z.input<typeof commandStatusSchema>

/** The status names of command queues for those of Oncue. */
const STATUSES: Record<JobStatus, CommandStatus['status']> = {
  blocked: 'queued',
  pending: 'queued',
  processing: 'running',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'failed',
}

export function commandStatusOf(job: Job): CommandStatus {
  const { id, status, result, created, updated, progress } = job
  return {
    job_id: id,
    status: STATUSES[status],
    result: result ?? null,
    error_message: errorMessageOf(job),
    created,
    updated,
    progress: progress ?? null,
  }
}

/** Includes the error of the last run while the job waits for its next one. */
function errorMessageOf({ status, lastError }: Job): string | null {
  if (status === 'completed') return null
  if (lastError) return lastError.message
  return status === 'cancelled' ? 'The command was cancelled' : null
}

export function registryOf(topics: readonly string[]): z.input<typeof registrySchema> {
  const byApp = new Map<string, string[]>()
  for (const topic of topics) {
    const [app, command] = topic.includes(':') ? topic.split(':') : ['', topic]
    if (app === undefined || command === undefined) continue
    byApp.set(app, [...(byApp.get(app) ?? []), command])
  }
  return { total_commands: topics.length, commands_by_app: Object.fromEntries(byApp) }
}
