import { AsyncLocalStorage } from 'node:async_hooks'
import {
  isOncueError,
  type JobContext,
  LIMITS,
  OncueError,
  type RetryPolicy,
  retryDelayMs,
  type StepOptions,
} from '@oncue/core'
import { assertText, encodeJson, retryOptionsSchema, signalOf, toInputError } from '@oncue/core/internal'
import { parseDuration, type Runtime } from '@oncue/runtime'
import { createEach } from './each.ts'
import { createToldSteps, type RunStep, type Tell } from './told-steps.ts'
import { unawaitedAtEnd } from './unawaited.ts'

/** What a step needs of its run: in an isolated process each is a call to the worker. */
export interface StepRecord {
  /**
   * Claims the name for this run, and returns what an earlier run recorded: the result, or the attempts that failed.
   * Throws a StepError for a failure that the handler had survived.
   */
  begin(name: string): Promise<{ readonly result: unknown } | { readonly attempts: number }>
  /** Records the result, as JSON text, and returns it. `isTold`: its own events say that it has finished. */
  finish(name: string, text: string | undefined, isTold: boolean): Promise<unknown>
  /** Its last attempt failed. Recorded if the handler survives it. Resolves when the handler may hear of it. */
  fail(name: string, error: unknown): Promise<void>
  /** Waits before the next attempt. `error`: why this one failed, which its own events may tell. */
  pause(name: string, attempt: number, delayMs: number, error: unknown, isTold: boolean): Promise<void>
  /** The step has run, and its result cannot be stored: the job must not be retried. */
  unstored(name: string, error: OncueError): void
  readonly signal: AbortSignal
  /** Aborted or over. */
  readonly isEnding: boolean
}

/** Whether code runs within a step or a commit. */
const within = new AsyncLocalStorage<{ readonly call: 'step' | 'commit'; readonly name: string }>()

/** Runs the work of a step or a commit. */
export function runWithin<T>(call: 'step' | 'commit', name: string, work: () => T): T {
  return within.run({ call, name }, work)
}

export function assertNotNested(call: string): void {
  const outer = within.getStore()
  if (outer === undefined) return
  const message = `ctx.${call} was called within the ${outer.call} ${JSON.stringify(outer.name)}`
  throw new OncueError('NESTED_CALL', message)
}

/** For calls that write at once, beside the transaction of a commit: on SQLite they would wait for its end. */
export function assertNotInCommit(call: string): void {
  if (within.getStore()?.call === 'commit') assertNotNested(call)
}

/** A name that is the same in every run. */
export function assertCallName(
  name: unknown,
  call:
    | 'step'
    | 'plan'
    | 'node'
    | 'tool'
    | 'commit'
    | 'sleep'
    | 'ask'
    | 'since'
    | 'spawn'
    | 'enqueue'
    | 'undo',
): asserts name is string {
  if (typeof name !== 'string' || name === '' || name.length > LIMITS.stepNameLength) {
    const message = `ctx.${call} needs a name of 1 to ${LIMITS.stepNameLength} characters that is the same in every run`
    throw new OncueError('INVALID_INPUT', message)
  }
  assertText(name, `the name of ctx.${call}`)
}

/** Milliseconds of a duration. */
export function toMilliseconds(duration: unknown, what: string): number {
  const ms = typeof duration === 'string' ? parseDuration(duration) : duration
  if (typeof ms === 'number' && ms >= 0 && ms <= LIMITS.delayMs) return Math.round(ms)
  const message = `${what} must be milliseconds or a text such as 30s, 5m, 2h or 7d, up to ten years`
  throw new OncueError('INVALID_INPUT', message)
}

export type Work = (signal: AbortSignal) => unknown

/**
 * `ctx.step` and its kinds for agents. Both the run that makes a result and later ones get it after a round trip through JSON.
 */
export function createSteps(
  record: StepRecord,
  runtime: Runtime,
  tell: Tell,
): Pick<JobContext, 'step' | 'plan' | 'node' | 'tool'> {
  const run = async (...[call, name, work, options = {}]: Parameters<RunStep>): Promise<unknown> => {
    assertNotNested(call)
    assertCallName(name, call)
    const { policy, max } = retryOf(options)
    const timeoutMs = timeoutOf(options)
    const begun = await record.begin(name)
    if ('result' in begun) return begun.result
    for (let attempt = begun.attempts + 1; ; attempt++) {
      let result: unknown
      try {
        result = await runWithin('step', name, () => attemptOf(name, work, timeoutMs, record, runtime))
      } catch (error) {
        // What a handler asks for by throwing, and the end of the run, are no failures to be repeated.
        if (attempt > max || signalOf(error) || record.signal.aborted) {
          await record.fail(name, error)
          throw error
        }
        const pause = retryDelayMs(policy, attempt)
        await record.pause(name, attempt, pause, error, call !== 'step').catch(async (end) => {
          await record.fail(name, end)
          throw end
        })
        continue
      }
      return store(name, result, record, call !== 'step')
    }
  }
  const step = (name: string, work: Work, options?: StepOptions) => run('step', name, work, options)
  const started = (...args: Parameters<typeof step>) => unawaitedAtEnd(step(...args), record)
  const each = createEach(step)
  const startedEach = (...args: Parameters<typeof each>) => unawaitedAtEnd(each(...args), record)
  // The results are what the types say after their round trip; the compiler cannot infer that.
  const told = createToldSteps((...args) => unawaitedAtEnd(run(...args), record), tell)
  return { step: Object.assign(started, { each: startedEach }) as JobContext['step'], ...told }
}

const DEFAULT_STEP_RETRIES = 3

/** Throws if these options make no sense. */
export function assertStepOptions(options: StepOptions): void {
  retryOf(options)
  timeoutOf(options)
}

function timeoutOf({ timeout }: StepOptions): number | undefined {
  return timeout === undefined ? undefined : toMilliseconds(timeout, 'options.timeout')
}

function retryOf({ retry }: StepOptions): { policy: RetryPolicy | null; max: number } {
  if (retry === undefined) return { policy: null, max: 0 }
  const parsed = retryOptionsSchema.safeParse(retry)
  if (!parsed.success) throw toInputError(parsed.error, 'options.retry', retry)
  const { max = DEFAULT_STEP_RETRIES, strategy = 'exponential', ...policy } = parsed.data
  return { policy: { ...policy, strategy }, max }
}

function attemptOf(
  name: string,
  work: Work,
  timeoutMs: number | undefined,
  record: StepRecord,
  runtime: Runtime,
): unknown {
  if (timeoutMs === undefined) return work.length > 0 ? work(record.signal) : (work as () => unknown)()
  const controller = new AbortController()
  return new Promise((resolve, reject) => {
    const timer = runtime.after(timeoutMs, () => {
      const message = `the step ${JSON.stringify(name)} took longer than ${timeoutMs} ms`
      const error = new OncueError('STEP_TIMEOUT', message)
      reject(error)
      controller.abort(error)
    })
    const attempt = async () => work(AbortSignal.any([controller.signal, record.signal]))
    attempt()
      .finally(() => runtime.cancel(timer))
      .then(resolve, reject)
  })
}

async function store(name: string, result: unknown, record: StepRecord, isTold: boolean): Promise<unknown> {
  try {
    return await record.finish(name, result === undefined ? undefined : encodeJson(result, 'result'), isTold)
  } catch (cause) {
    // A lost run no longer owns the job; an unreachable database says nothing about the result.
    if (isOncueError(cause) && (cause.code === 'STALE_RUN' || cause.retryable)) throw cause
    const error = cannotBeStored(name, cause)
    record.unstored(name, error)
    throw error
  }
}

function cannotBeStored(name: string, cause: unknown): OncueError {
  const why = cause instanceof Error ? cause.message : 'it cannot be read'
  const message = `the step ${JSON.stringify(name)} has run, but its result cannot be stored: ${why}`
  return new OncueError('INVALID_RESULT', message, { cause, hint: HINT })
}

const HINT =
  'The step has run, so the job is not retried. Return a small plain value from the step, such as an id; undo or finish the work manually before you requeue the job.'
