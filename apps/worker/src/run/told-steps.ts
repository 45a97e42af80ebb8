import { isOncueError, type JobContext, LIMITS, type StepOptions } from '@oncue/core'
import { describeError, encodeJson } from '@oncue/core/internal'

/** A step by the name of its call, with whether its events say that it has finished. */
export type RunStep = (
  call: 'step' | 'plan' | 'node' | 'tool',
  name: string,
  work: (signal: AbortSignal) => unknown,
  options: StepOptions | undefined,
) => Promise<unknown>

/** Writes an event of the run, and resolves when it is written. In an isolated process it is a call to the worker. */
export type Tell = (type: string, data: object) => Promise<void>

/** Leaves room for the name of the step. */
const MAX_BYTES = LIMITS.eventBytes - 4_096

/**
 * `ctx.plan`, `ctx.node` and `ctx.tool`. Their events are written before the outcome is recorded, so that each outcome has
 * its events; a call that a crash repeats is told twice, because it was made twice.
 */
export function createToldSteps(step: RunStep, tell: Tell): Pick<JobContext, 'plan' | 'node' | 'tool'> {
  /** The outcome counts, even if the story of it is lost. */
  const end = (type: string, data: object) => tell(type, data).catch(() => {})

  const between = async (began: string, ended: string, data: { name: string }, work: () => unknown) => {
    await tell(began, data)
    const { name } = data
    try {
      const result = await work()
      await end(ended, { name, ...shown('result', result) })
      return result
    } catch (error) {
      await end(ended, { name, error: shortError(error) })
      throw error
    }
  }

  type Work = (signal: AbortSignal) => unknown
  const plan = (name: string, work: Work, options?: StepOptions) => {
    const generate = async (signal: AbortSignal) => {
      const generated = await work(signal)
      await end('plan_generated', { name, ...shown('plan', generated) })
      return generated
    }
    return step('plan', name, generate, options)
  }
  const node = (name: string, work: Work, options?: StepOptions) => {
    const run = (signal: AbortSignal) =>
      between('node_started', 'node_finished', { name }, () => work(signal))
    return step('node', name, run, options)
  }
  const tool = (
    name: string,
    args: unknown,
    work: (args: unknown, signal: AbortSignal) => unknown,
    options?: StepOptions,
  ) => {
    const run = (signal: AbortSignal) =>
      between('tool_called', 'tool_returned', { name, ...given(args) }, () => work(args, signal))
    return step('tool', name, run, options)
  }
  // The results are what the types say after their round trip; the compiler cannot infer that.
  return { plan, node, tool } as Pick<JobContext, 'plan' | 'node' | 'tool'>
}

/** Nothing, if it is too large for an event or cannot be stored, which the step itself will find. */
function shown(key: 'plan' | 'result', value: unknown): object {
  if (value === undefined) return {}
  try {
    return { [key]: JSON.parse(encodeJson(value, 'event', MAX_BYTES)) }
  } catch {
    return {}
  }
}

/** Arguments that are no JSON are refused before anything is called. */
function given(args: unknown): object {
  if (args === undefined) return {}
  try {
    return { args: JSON.parse(encodeJson(args, 'event', MAX_BYTES)) }
  } catch (error) {
    if (isOncueError(error, 'PAYLOAD_TOO_LARGE')) return {}
    throw error
  }
}

/** For events. */
export function shortError(error: unknown): object {
  const { class: name, message, code } = describeError(error, '')
  return code === undefined ? { class: name, message } : { class: name, message, code }
}
