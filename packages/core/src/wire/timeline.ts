import { z } from 'zod'
import { jobIdSchema } from '../job/id.ts'
import { maskedSchema } from './jobs.ts'

/**
 * - `created`, `finished`: of the job; `name` is its status at the end
 * - `step`, `step_failed`: `data` is the result or the error; the end of a plan, a node or a tool is told by its event
 * - `slept`: a sleep is over; `retried`: the pause before a failed step or undo ran again
 * - `signal`: was delivered, with its `data`
 * - `asked`, `answer`, `refused`: a question, its answer, and an answer that did not fit
 * - `spawned`: jobs were made, `data.jobs`; `children`: those that a wait was for have ended, `data.failed` not completed
 * - `undo`, `undone`: an undo was registered; it has run
 * - `timeout`: a wait ended without a signal or an answer
 * - `event`: of the job's stream; `name` is its type
 * - `waiting`: what a suspended job waits for now
 */
const KINDS = [
  ...([
    'created',
    'step',
    'step_failed',
    'slept',
    'retried',
    'signal',
    'asked',
    'answer',
    'refused',
  ] as const),
  ...(['spawned', 'children', 'undo', 'undone', 'timeout', 'event', 'waiting', 'finished'] as const),
] as const

const timelineEntrySchema = z.object({
  at: z.date(),
  kind: z.enum(KINDS),
  name: z.string().nullable().describe('of the step, sleep, signal or question; of an event its type'),
  by: z.string().nullable().describe('who answered'),
  until: z.date().nullable().describe('when a wait ends by itself'),
  data: z
    .unknown()
    .describe('result, error, data of a signal or event, question or answer, jobs that were made'),
  size: z
    .int()
    .nullable()
    .describe(
      'bytes of data that are left out, because they are more than 10,000; as stored, perhaps compressed',
    ),
})
export type TimelineEntry = Readonly<z.output<typeof timelineEntrySchema>>

/** The story of a job in one order. */
const timelineSchema = z.object({
  id: jobIdSchema,
  entries: z
    .array(timelineEntrySchema)
    .describe('its creation, the newest 1,000 of what followed, in order, then what it waits for'),
  isComplete: z.boolean().describe('false: older entries are left out'),
})
export type Timeline = Readonly<z.output<typeof timelineSchema>>

export const timelineResponseSchema = timelineSchema.extend({ masked: maskedSchema })
