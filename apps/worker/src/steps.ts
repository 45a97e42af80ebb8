import { encodeJson, type JobContext, OncueError } from '@oncue/core'
import type { JobEvent, NewEvent } from '@oncue/db'

const STEP_FINISHED = 'step_finished'

/**
 * `ctx.step` of one run. What a step returned is an event of the job, so that a later run finds it. Both runs
 * get what JSON gives back: a difference would show only after a crash.
 */
export function createSteps(
  job: { readonly run: number },
  eventsAfter: EventsAfter,
  keep: (event: NewEvent) => Promise<void>,
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
      const text = encodeJson({ name, result: await work() }, 'event')
      const data = JSON.parse(text) as { result?: unknown }
      await keep({ type: STEP_FINISHED, data })
      return data.result
    } catch (error) {
      running.delete(name)
      throw error
    }
  }

  return <Result>(name: string, work: () => Result | Promise<Result>) => {
    if (typeof name !== 'string' || name === '') {
      throw new OncueError('INVALID_INPUT', 'ctx.step needs a name that is the same in every run')
    }
    const step = running.get(name) ?? run(name, work)
    running.set(name, step)
    return step as Promise<Result>
  }
}

/** One page of the events of the job; an empty one is the end. */
type EventsAfter = (version: number) => Promise<JobEvent[]>

async function readSteps(eventsAfter: EventsAfter): Promise<Map<string, unknown>> {
  const finished = new Map<string, unknown>()
  let afterVersion = 0
  for (;;) {
    const page = await eventsAfter(afterVersion)
    for (const { type, data } of page) {
      if (type !== STEP_FINISHED) continue
      const { name, result } = data as { name: string; result?: unknown }
      finished.set(name, result)
    }
    const last = page.at(-1)
    if (!last) return finished
    afterVersion = last.version
  }
}
