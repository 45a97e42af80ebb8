import { OncueError } from '@oncue/core'
import { z } from 'zod'

/** How values of environment variables are read, in the `config.ts` of every package. */

/** An empty variable counts as unset: a compose file cannot leave one out. */
export const text = z
  .string()
  .optional()
  .transform((value) => value || undefined)

/** Separated by commas. */
export const list = text.transform((value) => (value === undefined ? undefined : splitList(value)))

export function splitList(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
}

export function whole(min: number, max: number) {
  return text.transform((value, context) => {
    if (value === undefined) return undefined
    const number = parseWhole(value, min, max)
    if (number === null) context.addIssue(`must be a whole number from ${min} to ${max}`)
    return number ?? z.NEVER
  })
}

/** Null if it is not one, or out of range. */
export function parseWhole(value: string, min: number, max: number): number | null {
  const number = value.trim() === '' ? Number.NaN : Number(value)
  return Number.isInteger(number) && number >= min && number <= max ? number : null
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export const logLevel = text.pipe(
  z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
)

/** As `process.env`; a type of Node's would ask users of this package for `@types/node`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Throws `INVALID_INPUT`, which names the first variable with a wrong value. */
export function readEnvironment<Schema extends z.ZodType>(
  schema: Schema,
  env: Environment,
): z.output<Schema> {
  const parsed = schema.safeParse(env)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const name = String(issue?.path[0])
  throw wrongSetting(`${name}=${env[name]} ${issue?.message}`)
}

export function wrongSetting(message: string): OncueError {
  return new OncueError('INVALID_INPUT', message, { hint: 'Correct this environment variable.' })
}
