import { type JobDefinitions, type JobId, OncueError, parseResult } from '@oncue/core'
import type { CallOptions, Outputs } from './api.ts'
import { withDeadline } from './deadline.ts'
import type { Transport } from './transport.ts'

export interface WaitOptions extends CallOptions {
  /** WAIT_TIMEOUT after so long; without it, it waits for as long as it takes. */
  readonly timeoutMs?: number | undefined
}

type Finished = Extract<Outputs['jobs']['wait'], { finished: true }>

/** Most jobs end soon. So long a request waits before a stream is worth being opened. */
const SOON_MS = 2_000
/** How long each request waits where there is no stream: shorter than proxies keep one that says nothing. */
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

async function untilFinished(
  transport: Transport,
  id: JobId,
  timeoutMs: number = Number.POSITIVE_INFINITY,
  signal: AbortSignal,
): Promise<Finished> {
  const ask = async (atMostMs: number) => {
    const waitMs = Math.min(atMostMs, timeoutMs)
    const rules = { signal, alone: true, isPatient: true, timeoutMs: waitMs + transport.timeoutMs }
    const answer = await transport.call('query', 'jobs.wait', { id, timeoutMs: waitMs }, rules)
    return answer as Outputs['jobs']['wait']
  }
  let answer = await ask(SOON_MS)
  if (!answer.finished) await hearOfTheEnd(transport, id, signal)
  while (!answer.finished) answer = await ask(POLL_MS)
  return answer
}

/**
 * By the stream of its states. Comes back early where streams do not get through, such as behind a proxy that
 * holds them back: what was wrong, if it matters, the next request says too.
 */
async function hearOfTheEnd(transport: Transport, id: JobId, signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const leave = () => stop.abort()
  signal.addEventListener('abort', leave)
  // The state as it is comes at once.
  const silence = setTimeout(leave, transport.timeoutMs)
  try {
    for await (const _ of transport.watch('jobs.watch', { id, events: false }, stop.signal))
      clearTimeout(silence)
  } catch {
    if (signal.aborted) throw signal.reason
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', leave)
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
