import { z } from 'zod'

/** What one look at the database showed. */
export const databaseFindingSchema = z.object({
  check: z.string().describe('what was checked, such as "oldest transaction"'),
  status: z.enum(['ok', 'warn', 'fail']),
  found: z.string().describe('one line for people'),
  advice: z.string().nullable().describe('what it means and what to do; null: nothing'),
})
export type DatabaseFinding = Readonly<z.output<typeof databaseFindingSchema>>

export const databaseSchema = z.object({
  dialect: z.enum(['postgres', 'sqlite']),
  checkedAt: z.date().describe('many callers share one look, for up to 15 s'),
  findings: z.array(databaseFindingSchema),
})
