import { z } from 'zod'
import { jobIdSchema } from '../job/id.ts'
import { LIMITS } from '../job/limits.ts'
import { topicSchema } from '../job/names.ts'
import { ASK_ROLES } from '../job/question.ts'
import { plainText } from './fields.ts'

/** An open question of a job. */
export const questionSchema = z.object({
  id: jobIdSchema.describe('of the job that asks'),
  name: z.string().describe('names the question among those of the job'),
  topic: z.string(),
  queue: z.string(),
  question: z.string(),
  schema: z.record(z.string(), z.unknown()).describe('JSON Schema of the answer'),
  role: z.enum(ASK_ROLES).describe('who may answer: this role, or one that may do more'),
  since: z.date().describe('when it was asked'),
  until: z.date().nullable().describe('when the job goes on without an answer; null: never'),
  refused: z.string().nullable().describe('why the last answer did not fit; null: there was none'),
})
export type Question = Readonly<z.output<typeof questionSchema>>

export const questionsRequestSchema = z.strictObject({
  /** Of this job. */
  id: jobIdSchema.optional(),
  /** Of jobs of this topic. */
  topic: topicSchema.optional(),
  /** 1 to 1,000. Default: 100. */
  limit: z.int().min(1).max(1_000).default(100),
})
export type QuestionFilter = Readonly<z.input<typeof questionsRequestSchema>>

/** An answer to an open question. */
export const answerJobRequestSchema = z.strictObject({
  id: jobIdSchema,
  name: plainText(LIMITS.stepNameLength).min(1).describe('an open question of the job'),
  value: z
    .unknown()
    .refine((value) => value !== undefined, { error: 'is missing' })
    .describe('JSON that fits the schema of the question'),
  key: plainText(LIMITS.keyLength)
    .min(1)
    .optional()
    .describe('an answer that is sent again with the same key changes nothing'),
})

export const answeredJobSchema = z.object({ id: jobIdSchema, name: z.string() })
