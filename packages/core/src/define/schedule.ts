import { z } from 'zod'
import { toInputError } from '../job/input-error.ts'
import { encodeJson } from '../job/json.ts'
import type { InputOfSchema, Schema } from '../job/schema.ts'
import { accepts, parsePayload } from '../job/validate.ts'

export const missedSchema = z.enum(['skip', 'one', 'all'])
/** Ticks that were missed while no worker ran become no job, one for the last, or one each, up to 100. */
type Missed = z.output<typeof missedSchema>

/** The schedule of a kind of job. */
export interface ScheduleConfig<Input extends Schema> {
  /** When a worker enqueues one: five fields, six with seconds, or a nickname such as `@daily`. */
  readonly cron?: string | undefined
  /** An IANA time zone, such as `Europe/Berlin`. Default: UTC. */
  readonly timezone?: string | undefined
  /** The payload of these jobs. Default: `{}`, or none where `input` accepts none. */
  readonly cronPayload?: InputOfSchema<Input> | undefined
  /** Missed ticks become no job (the default), one for the last, or one each, up to 100. */
  readonly missed?: Missed | undefined
}

/** A schedule in code. The pattern itself is checked when a worker starts. */
export interface JobSchedule {
  /** Five fields, six with seconds, or a nickname. */
  readonly cron: string
  /** IANA. */
  readonly timezone: string
  /** The payload of its jobs. */
  readonly payload: unknown
  /** Missed ticks become no job, one for the last, or one each. */
  readonly missed: Missed
}

const scheduleSchema = z
  .object({
    cron: z.string().min(1).optional(),
    timezone: z.string().min(1).optional(),
    cronPayload: z.unknown(),
    missed: missedSchema.optional(),
  })
  .refine(
    ({ cron, ...rest }) => cron !== undefined || Object.values(rest).every((value) => value === undefined),
    { path: ['cron'], error: 'is missing; timezone, cronPayload and missed need it' },
  )

/** A payload that does not fit would fail at every tick, so it is refused when the module is loaded. */
export function readSchedule<Input extends Schema>(
  input: Input,
  config: ScheduleConfig<Input>,
): JobSchedule | undefined {
  const parsed = scheduleSchema.safeParse(config)
  if (!parsed.success) throw toInputError(parsed.error, 'job', config)
  const { cron, timezone = 'UTC', missed = 'skip' } = parsed.data
  if (cron === undefined) return undefined
  const nothing = accepts(input, undefined) && !accepts(input, {}) ? null : {}
  const cronPayload = parsed.data.cronPayload ?? nothing
  const payload: unknown = JSON.parse(encodeJson(cronPayload, 'payload'))
  parsePayload(input, payload, `job.cronPayload, cron ${JSON.stringify(cron)}`)
  return { cron, timezone, payload, missed }
}
