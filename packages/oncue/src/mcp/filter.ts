import { filterStatusSchema, type JobFilter, PAST_TIME_HINT, parsePastTime } from '@oncue/core/wire'
import { systemRuntime } from '@oncue/runtime'
import { z } from 'zod'

/** Assistants say when in words, as people do; the API takes moments. */
export const pastSchema = z
  .string()
  .max(64)
  .transform((text, context) => {
    const time = parsePastTime(text, new Date(systemRuntime.now()))
    if (time === null) context.addIssue(`must be a time. ${PAST_TIME_HINT}`)
    return time ?? z.NEVER
  })

const filterSchema = z.strictObject({
  id: z.string().optional().describe('the id of one job, or how it begins'),
  status: z.array(filterStatusSchema).min(1).optional(),
  queue: z.string().optional(),
  topic: z.string().optional(),
  fingerprint: z.string().optional().describe('failed with this fingerprint, as list_failures tells'),
  error_text: z.string().optional().describe('text in the error'),
  payload_text: z.string().optional().describe('text in the payload; needs since, and an admin token'),
  meta: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .optional()
    .describe('has these meta values'),
  since: pastSchema.optional().describe('created since: 30m, 2h, 7d, today, or a moment'),
  until: pastSchema.optional().describe('created before: as since'),
})

export const filterShape = filterSchema.shape

export function toFilter(named: z.output<typeof filterSchema>): JobFilter {
  const { id, status, queue, topic, fingerprint, meta, since, until, error_text, payload_text } = named
  const filter = {
    ...{ status, queue, topic, fingerprint, meta, idPrefix: id },
    ...{ createdFrom: since, createdTo: until, errorText: error_text, payloadText: payload_text },
  }
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
}
