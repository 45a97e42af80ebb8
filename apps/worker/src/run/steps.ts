import { isOncueError, type JobContext, LIMITS, OncueError } from '@oncue/core'
import { assertText, encodeJson } from '@oncue/core/internal'
import type { JobEvent, NewEvent } from '@oncue/db'

const STEP_FINISHED = 'step_finished'

/**
 * `ctx.step` of one run. What a step returned is an event of the job, so that a later run finds it. Both runs
 * get what JSON gives back: a difference would show only after a crash. `onUnstored` learns of a step that
 * has run and whose result cannot be kept: another run would repeat its effect.
 */
export function createSteps(
  job: { readonly run: number },
  eventsAfter: EventsAfter,
  keep: (event: NewEvent) => Promise<void>,
  onUnstored: (error: OncueError) => void,
): JobContext['step'] {
  const running = new Map<string, Promise<unknown>>()
  let earlier: Promise<Map<string, unknown>> | undefined

  const run = async (name: string, work: () => unknown): Promise<unknown> => {
    try {
      earlier ??= job.run === 1 ? Promise.resolve(new Map()) : readSteps(eventsAfter)
      const finished = await earlier.catch((error) => {
        earlier = undefined
        throw error
      })
      if (finished.has(name)) return finished.get(name)
      return await store(name, await work())
    } catch (error) {
      // What ran and cannot be stored must not run again in this run either.
      if (!isOncueError(error) || !unstored.has(error)) running.delete(name)
      throw error
    }
  }

  const unstored = new WeakSet<OncueError>()
  const store = async (name: string, result: unknown): Promise<unknown> => {
    try {
      const kept = result === undefined ? undefined : (JSON.parse(encodeJson(result, 'result')) as unknown)
      await keep({ type: STEP_FINISHED, data: { name, result: kept } })
      return kept
    } catch (cause) {
      // A run that was lost has another that owns the job; a database that is away is no fault of the result.
      if (isOncueError(cause) && (cause.code === 'STALE_RUN' || cause.retryable)) throw cause
      const error = cannotBeStored(name, cause)
      unstored.add(error)
      onUnstored(error)
      throw error
    }
  }

  return ((name: string, work: () => unknown) => {
    if (typeof name !== 'string' || name === '' || name.length > LIMITS.stepNameLength) {
      const message = `ctx.step needs a name of 1 to ${LIMITS.stepNameLength} characters that is the same in every run`
      throw new OncueError('INVALID_INPUT', message)
    }
    assertText(name, 'the name of a step')
    const step = running.get(name) ?? run(name, work)
    running.set(name, step)
    return step
  }) as JobContext['step']
}

function cannotBeStored(name: string, cause: unknown): OncueError {
  const why = cause instanceof Error ? cause.message : 'it cannot be read'
  const message = `the step ${JSON.stringify(name)} has run, but its result cannot be stored: ${why}`
  return new OncueError('INVALID_RESULT', message, { cause, hint: HINT })
}

const HINT =
  'Its effect has happened, so the job is not retried. Return a small plain value from the step, such as an id; undo or finish the work by hand before you requeue the job.'

/** One page of the events of the job; an empty one is the end. */
type EventsAfter = (version: number) => Promise<JobEvent[]>

async function readSteps(eventsAfter: EventsAfter): Promise<Map<string, unknown>> {
  const finished = new Map<string, unknown>()
  let afterVersion = 0
  for (;;) {
    const page = await eventsAfter(afterVersion)
    for (const { type, data } of page) {
      // It waited and got another payload: new work. One that names another job was replaced while it ran, and keeps its steps.
      if (type === 'replaced' && data === null) finished.clear()
      if (type !== STEP_FINISHED) continue
      const { name, result } = data as { name: string; result?: unknown }
      finished.set(name, result)
    }
    const last = page.at(-1)
    if (!last) return finished
    afterVersion = last.version
  }
}
