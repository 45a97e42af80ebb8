import { z } from 'zod'
import { fingerprint } from './fingerprint.ts'
import { LIMITS } from './limits.ts'
import { cleanText, truncateUtf8 } from './text.ts'

const causeSchema = z.object({
  class: z.string(),
  message: z.string(),
  /** Of Node, a driver or Oncue: `ECONNREFUSED`, `P2002`, `JOB_TIMEOUT`. */
  code: z.string().optional(),
  stack: z.string().optional(),
})

/** Why a run failed, as it is stored with the job. Equal fingerprints mean the same fault. */
export const jobErrorSchema = causeSchema.extend({
  fingerprint: z.string(),
  causes: z.array(causeSchema).optional(),
})
/** The error of a run, as it is stored. Errors with the same fingerprint are one group of failures. */
export type JobError = z.output<typeof jobErrorSchema>
type Cause = z.output<typeof causeSchema>

const MAX_CAUSES = 5
const MAX_NAME = 200

/** Describes anything that can be thrown. Never throws itself, and what it returns can always be stored. */
export function describeError(error: unknown, topic: string): JobError {
  // The error itself may take half of the limit, each cause half of what is left.
  const links = causeChain(error).map((link, i) => describe(link, LIMITS.lastErrorBytes / 2 ** (i + 1)))
  const [own, ...causes] = links as [Cause, ...Cause[]]
  const described = { ...own, fingerprint: fingerprint({ ...own, frames: framesOf(error) }, topic) }
  return causes.length ? { ...described, causes } : described
}

/** The error and what caused it, outermost first. An AggregateError is caused by its errors. */
function causeChain(error: unknown): unknown[] {
  const chain = [error]
  // The list grows during the walk; it ends because no error is listed twice and the length is limited.
  for (const link of chain) {
    const { cause, errors } = read(link, 'cause', 'errors')
    const next = cause === undefined ? elements(errors) : [cause]
    for (const value of next) {
      const isNew = value !== undefined && value !== null && !chain.includes(value)
      if (isNew && chain.length <= MAX_CAUSES) chain.push(value)
    }
  }
  return chain
}

/** Empty if it is not an array, or a proxy that cannot be inspected. */
function elements(errors: unknown): unknown[] {
  try {
    return Array.isArray(errors) ? errors.slice(0, MAX_CAUSES) : []
  } catch {
    return []
  }
}

function describe(error: unknown, room: number): Cause {
  const { message, code, stack } = read(error, 'message', 'code', 'stack')
  const fit = (text: string, bytes: number) => truncateUtf8(cleanText(text), bytes)
  const described: Cause = {
    class: fit(errorClassName(error), MAX_NAME),
    message: fit(typeof message === 'string' ? message : preview(error), room / 4),
  }
  if (typeof code === 'string') described.code = fit(code, MAX_NAME)
  if (typeof stack === 'string') {
    // V8 repeats the message in the stack. At full length it could leave no room for frames.
    const shortened = typeof message === 'string' ? stack.replace(message, () => described.message) : stack
    described.stack = fit(shortened, (room * 3) / 4)
  }
  return described
}

/** The stack without the message, whose lines may look like frames, and before anything is cut. */
function framesOf(error: unknown): string {
  const { message, stack } = read(error, 'message', 'stack')
  if (typeof stack !== 'string') return ''
  return typeof message === 'string' ? stack.replace(message, '') : stack
}

/** `name`, unless it is the inherited 'Error' of a subclass that did not set one. */
export function errorClassName(error: unknown): string {
  if (typeof error !== 'object' || error === null) return typeof error
  const { name, constructor: made } = read(error, 'name', 'constructor')
  if (typeof name === 'string' && name !== '' && name !== 'Error') return name
  const { name: constructorName } = read(made, 'name')
  return typeof constructorName === 'string' && constructorName !== '' ? constructorName : 'Error'
}

function preview(thrown: unknown): string {
  try {
    return (typeof thrown === 'object' ? JSON.stringify(thrown) : undefined) ?? String(thrown)
  } catch {
    return 'a value that cannot be shown'
  }
}

/** Reads a property of any value; a getter that throws reads as undefined. */
function read<Key extends string>(from: unknown, ...keys: Key[]): Partial<Record<Key, unknown>> {
  const values: Partial<Record<Key, unknown>> = {}
  if ((typeof from !== 'object' && typeof from !== 'function') || from === null) return values
  for (const key of keys) {
    try {
      values[key] = (from as Record<Key, unknown>)[key]
    } catch {}
  }
  return values
}
