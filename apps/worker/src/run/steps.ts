import { isOncueError, type JobContext, LIMITS, OncueError } from '@oncue/core'
import { assertText, encodeJson } from '@oncue/core/internal'
import type { JobEvent, NewEvent } from '@oncue/db'

const STEP_FINISHED = 'step_finished'

/**
 * `ctx.step` of one run. The result of a step is stored as an event of the job, where a later run finds it. Both runs
 * get it after a round trip through JSON: otherwise they would differ only after a crash. `onUnstored` is called if a
 * step has run and its result cannot be stored: another run would repeat its effect.
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
      // A step whose result cannot be stored must not run again in this run either.
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
      // A lost run no longer owns the job; an unreachable database says nothing about the result.
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
  'The step has run, so the job is not retried. Return a small plain value from the step, such as an id; undo or finish the work manually before you requeue the job.'

/** Reads one page of the job's events; an empty page is the end. */
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
