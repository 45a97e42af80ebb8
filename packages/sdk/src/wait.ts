import { type JobDefinitions, type JobId, OncueError } from '@oncue/core'
import { parseResult, systemClock } from '@oncue/core/internal'
import type { CallOptions, Outputs } from './api.ts'
import { withDeadline } from './deadline.ts'
import type { Transport } from './transport.ts'

/** How long to wait. */
export interface WaitOptions extends CallOptions {
  /** In milliseconds; then it throws WAIT_TIMEOUT. Default: Infinity. */
  readonly timeoutMs?: number | undefined
}

type Finished = Extract<Outputs['jobs']['wait'], { finished: true }>

/** Most jobs finish quickly, so long-poll this long before opening a stream. */
const SOON_MS = 2_000
/** Where streams are blocked, each long poll takes this long: less than the idle timeout of proxies. */
const POLL_MS = 25_000
/** A stream starts with the job's state. If nothing arrives within this time, streams are blocked. */
const SILENCE_MS = 3_000
/** How long no other stream is tried then. */
const NO_STREAMS_MS = 5 * 60_000

/** Waits for a job and returns its result. Throws if it failed or was cancelled. */
export async function waitForResult(
  transport: Transport,
  definitions: JobDefinitions | undefined,
  id: JobId,
  { timeoutMs: given, signal, topic }: WaitOptions & { readonly topic?: string } = {},
): Promise<unknown> {
  const timeoutMs = readTimeout(given)
  const late = () => new OncueError('WAIT_TIMEOUT', `The job ${id} has not finished within ${timeoutMs} ms`)
  const finished = await withDeadline((inner) => untilFinished(transport, id, timeoutMs, inner), {
    ms: timeoutMs,
    late,
    signal,
  })
  if (topic !== undefined && topic !== finished.topic)
    throw new OncueError('INVALID_INPUT', `The job ${id} has the topic ${finished.topic}, not ${topic}`)
  return toResult(id, finished, definitions)
}

function readTimeout(given: unknown = Number.POSITIVE_INFINITY): number {
  if (typeof given === 'number' && given >= 0) return Math.ceil(given)
  throw new OncueError('INVALID_INPUT', `wait: timeoutMs must be 0 or more, got ${String(given)}`)
}

async function untilFinished(
  transport: Transport,
  id: JobId,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Finished> {
  const poll = async (atMostMs: number) => {
    const waitMs = Math.min(atMostMs, timeoutMs)
    const rules = { signal, alone: true, isPatient: true, timeoutMs: waitMs + transport.timeoutMs }
    const response = await transport.call('query', 'jobs.wait', { id, timeoutMs: waitMs }, rules)
    return response as Outputs['jobs']['wait']
  }
  for (;;) {
    // One long poll covers a short wait.
    const byStream = timeoutMs > POLL_MS && systemClock.now() >= (transport.noStreamsUntil ?? 0)
    const job = await poll(byStream ? SOON_MS : POLL_MS)
    if (job.finished) return job
    if (byStream) await watchUntilFinished(transport, id, signal)
  }
}

/**
 * Follows the job's states until it has finished. Returns early where streams are blocked, such as behind a buffering
 * proxy; the next request reports what was wrong, if anything.
 */
async function watchUntilFinished(transport: Transport, id: JobId, signal: AbortSignal): Promise<void> {
  const states = transport.watch('jobs.watch', { id, events: false }, signal, { firstWithinMs: SILENCE_MS })
  try {
    for await (const _ of states);
  } catch {
    if (signal.aborted) throw signal.reason
    transport.noStreamsUntil = systemClock.now() + NO_STREAMS_MS
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
  // A mask could be taken for the value.
  if (masked.length > 0)
    throw new OncueError('INVALID_RESULT', `The result of the job ${id} is partly masked: ${masked[0]}`, {
      hint: 'The API masks these values for everyone except admins: use an admin token. jobs.get shows the rest.',
      details: { ...details, masked },
    })
  const definition = definitions && Object.hasOwn(definitions, topic) ? definitions[topic] : undefined
  return definition ? parseResult(definition.output, result, topic) : result
}
