import { z } from 'zod'
import { systemClock } from './clock.ts'
import { errorClassName } from './failure.ts'
import { LIMITS } from './limits.ts'

const MINUTE_MS = 60_000

const RETRY_STRATEGIES = ['quadratic', 'exponential', 'exponential_jitter', 'fixed'] as const

const delaySchema = z.int().min(0).max(LIMITS.retryDelayMs).describe('whole milliseconds, at most 30 days')

/** How long to wait before the next run. Stored with the job, so it is plain JSON. Delays are milliseconds. */
export const retryPolicySchema = z.strictObject({
  /**
   * How delays grow: `quadratic` (1, 4, 9 units), `exponential` (1, 2, 4), the same with jitter, or `fixed`.
   * Default: quadratic.
   */
  strategy: z.enum(RETRY_STRATEGIES),
  /** Milliseconds, the unit of the strategy. Default: 60,000 for quadratic and fixed, 1,000 for exponential. */
  baseDelay: delaySchema.optional(),
  /** The shortest delay, in milliseconds. Default: 0. */
  minDelay: delaySchema.optional(),
  /** The longest delay, in milliseconds. Default: 30 days, which is also the maximum. */
  maxDelay: delaySchema.optional(),
})
/** Retry options with every default filled in. */
export type RetryPolicy = z.output<typeof retryPolicySchema>

/** Retry options: a policy whose strategy is optional, and how many retries (`max`). */
export const retryOptionsSchema = retryPolicySchema
  .partial()
  .extend({
    /** How many retries, 0 to 1,000: `max: 3` means at most four runs. Default: 3. */
    max: z
      .int()
      .min(0)
      .max(LIMITS.maxRetries)
      .describe(`a whole number up to ${LIMITS.maxRetries}`)
      .optional(),
  })
  .refine((retry) => (retry.minDelay ?? 0) <= (retry.maxDelay ?? LIMITS.retryDelayMs), {
    path: ['minDelay'],
    error: 'is greater than maxDelay',
  })
/** How often failed runs are repeated, and after which pauses. */
export type RetryOptions = z.output<typeof retryOptionsSchema>

/** The parsed retry options; undefined where a default applies. */
export function toRetrySettings(options: false | RetryOptions | undefined): {
  readonly maxRetries: number | undefined
  readonly retry: RetryPolicy | undefined
} {
  if (options === undefined) return { maxRetries: undefined, retry: undefined }
  if (options === false) return { maxRetries: 0, retry: undefined }
  const { max, ...policy } = options
  const saysWhen = Object.values(policy).some((value) => value !== undefined)
  return {
    maxRetries: max,
    retry: saysWhen ? { ...policy, strategy: policy.strategy ?? 'quadratic' } : undefined,
  }
}

/** A class of errors, for `retryOn`. */
export type ErrorClass = abstract new (...args: never[]) => Error

/**
 * Whether a failure of this kind is retried at all; without a list every kind is. The name counts too,
 * because an error that crossed a process or came from another copy of a package is no instance.
 */
export function isRetriedKind(error: unknown, retryOn: readonly ErrorClass[]): boolean {
  if (retryOn.length === 0) return true
  return retryOn.some((kind) => error instanceof kind || errorClassName(error) === kind.name)
}

/** How many retries and crashes a job has while it is undone: a few even if its work must not be repeated. */
export function retriesOfUndoing(maxRetries: number): number {
  return Math.max(maxRetries, 3)
}

/** The outcome of a failed run. `retries` is the count before this failure. */
export function decideRetry(retries: number, maxRetries: number): 'retry' | 'fail' {
  return retries < maxRetries ? 'retry' : 'fail'
}

/** The delay before the next run. `retries` is the count after the failure: 1 for the first retry. */
export function retryDelayMs(
  policy: RetryPolicy | null | undefined,
  retries: number,
  random: () => number = systemClock.random,
): number {
  const { strategy, baseDelay, minDelay = 0, maxDelay = LIMITS.retryDelayMs } = policy ?? QUADRATIC
  // Bounded, because 0 × Infinity is NaN.
  const nth = Math.min(Math.max(Math.trunc(retries) || 1, 1), LIMITS.maxRetries)
  const delay = DELAYS[strategy](nth, baseDelay ?? BASE_DELAYS[strategy], random)
  return Math.trunc(Math.min(Math.max(delay, minDelay), maxDelay, LIMITS.retryDelayMs))
}

const QUADRATIC: RetryPolicy = { strategy: 'quadratic' }

const BASE_DELAYS: Record<RetryPolicy['strategy'], number> = {
  quadratic: MINUTE_MS,
  exponential: 1_000,
  exponential_jitter: 1_000,
  fixed: MINUTE_MS,
}

const doubling = (nth: number, base: number) => base * 2 ** (nth - 1)

const DELAYS: Record<RetryPolicy['strategy'], (nth: number, base: number, random: () => number) => number> = {
  quadratic: (nth, base) => nth ** 2 * base,
  exponential: doubling,
  // Half fixed, half random. Full jitter spreads a little better, but may retry at once: with the few
  // retries a job has, that would use them up before the failing service could recover.
  exponential_jitter: (nth, base, random) => doubling(nth, base) * (0.5 + random() / 2),
  fixed: (_, base) => base,
}

export type CrashVerdict =
  | { readonly action: 'fail' }
  | { readonly action: 'retry'; readonly delayMs: number }

/**
 * The outcome of a worker's crash for a job that it was running. `crashes` includes this one.
 *
 * The first crash is not charged and the job runs again at once, since most crashes are deployments and memory
 * limits, not the job's fault; unless retries are off, which means that a second run would do harm. After
 * `maxRetries` crashes the job is failed: a poison job must not kill workers for ever. `isUndoing`: the count is of the runs
 * that undo the job.
 */
export function crashVerdict(crashes: number, maxRetries: number, isUndoing = false): CrashVerdict {
  const isLast = isUndoing
    ? crashes >= retriesOfUndoing(maxRetries)
    : crashes >= maxRetries && (crashes > 1 || maxRetries === 0)
  if (isLast) return { action: 'fail' }
  return { action: 'retry', delayMs: crashes > 1 ? retryDelayMs(null, crashes - 1) : 0 }
}
