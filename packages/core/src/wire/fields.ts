import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../errors.ts'
import { LIMITS } from '../job/limits.ts'
import { isStorableText } from '../job/text.ts'

// Fields that several shapes share.

/** Any text that a database can store, and so can be searched for. */
export const plainText = (maxLength: number) =>
  z.string().max(maxLength).refine(isStorableText, { error: 'contains a NUL character or a lone surrogate' })

/** A name that people give to something. */
export const nameSchema = plainText(LIMITS.keyLength).trim().min(1)

export const timeSchema = z.date().min(new Date(LIMITS.dateMin)).max(new Date(LIMITS.dateMax))

export const pausedSchema = z.object({ at: z.date(), by: z.string().nullable() }).nullable()

/** The id of the object that the procedure is about. */
export const idRequestSchema = z.strictObject({ id: z.uuid() })

/** The last message that a client saw, when it reconnects to a stream. */
export const lastEventIdSchema = z.string().max(100).nullish()
export const resumeRequestSchema = z.strictObject({ lastEventId: lastEventIdSchema }).optional()

/** Which page of a list, the newest entries first. */
export const pageRequest = (maxLimit: number) => ({
  limit: z.int().min(1).max(maxLimit).default(50),
  cursor: z.string().max(1_000).optional().describe('nextCursor of the previous page'),
})

export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item).describe('newest first'),
    nextCursor: z.string().nullable().describe('null: this is the last page'),
  })
export type Page<Item> = z.output<ReturnType<typeof pageOf<z.ZodType<Item>>>>

export const errorResponseSchema = z.object({
  error: z.object({
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    hint: z.string().describe('what to do'),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
})
export type ErrorResponse = z.output<typeof errorResponseSchema>
