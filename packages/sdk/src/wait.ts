import { type JobDefinitions, type JobId, OncueError, parseResult } from '@oncue/core'
import type { CallOptions, Outputs } from './api.ts'
import { withDeadline } from './deadline.ts'
import type { Transport } from './transport.ts'

export interface WaitOptions extends CallOptions {
  /** WAIT_TIMEOUT after so long; without it, it waits for as long as it takes. */
  readonly timeoutMs?: number | undefined
}

type Finished = Extract<Outputs['jobs']['wait'], { finished: true }>

/** How long one request waits: shorter than proxies keep a request that says nothing. */
const POLL_MS = 25_000

/** The result of a job, once there is one; what else became of it is thrown. */
export async function waitForResult(
  transport: Transport,
  definitions: JobDefinitions | undefined,
  id: JobId,
  { timeoutMs, signal, topic }: WaitOptions & { readonly topic?: string } = {},
): Promise<unknown> {
  const late = () => new OncueError('WAIT_TIMEOUT', `The job ${id} has not finished within ${timeoutMs} ms`)
  const finished = await withDeadline((inner) => untilFinished(transport, id, timeoutMs, inner), {
    ms: timeoutMs,
    late,
    signal,
  })
  if (topic !== undefined && topic !== finished.topic)
    throw new OncueError('INVALID_INPUT', `The job ${id} has the topic ${finished.topic}, and not ${topic}`)
  return toResult(id, finished, definitions)
}

/** A request after the other, each of which the API answers when the job is finished, or after a while. */
async function untilFinished(
  transport: Transport,
  id: JobId,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<Finished> {
  const pollMs = Math.min(timeoutMs ?? POLL_MS, POLL_MS)
  const rules = { signal, alone: true, isPatient: true, timeoutMs: pollMs + transport.timeoutMs }
  for (;;) {
    const answer = (await transport.call(
      'query',
      'jobs.wait',
      { id, timeoutMs: pollMs },
      rules,
    )) as Outputs['jobs']['wait']
    if (answer.finished) return answer
  }
}

function toResult(
  id: JobId,
  { topic, status, result, error, masked }: Finished,
  definitions: JobDefinitions | undefined,
): unknown {
  const details = { jobId: id, topic, ...(error && { error }) }
  if (status === 'failed')
    throw new OncueError('JOB_FAILED', `The job ${id} failed: ${error?.message ?? 'no reason given'}`, {
      details,
    })
  if (status === 'cancelled')
    throw new OncueError('JOB_CANCELLED', `The job ${id} was cancelled`, { details })
  const definition = definitions && Object.hasOwn(definitions, topic) ? definitions[topic] : undefined
  if (!definition) return result
  try {
    return parseResult(definition.output, result, topic)
  } catch (cause) {
    if (masked.length === 0) throw cause
    throw new OncueError('INVALID_RESULT', `${(cause as Error).message}; hidden: ${masked.join(', ')}`, {
      hint: 'The API hides these values from everybody but admins: use a token that may see them.',
      cause,
    })
  }
}
