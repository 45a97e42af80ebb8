import { constants } from 'node:os'
import { inspect } from 'node:util'
import type { RunningJob } from '@oncue/core'
import { count, EXIT, onStopSignals } from '@oncue/db/cli'
import { formatDuration, type Logger, systemRuntime } from '@oncue/runtime'
import type { Middleware } from '../run/middleware.ts'

/** How often to log what a stop still waits for. */
const REPORT_MS = 5_000
const MAX_NAMED = 20

interface Guard {
  /** Aborted when the process has to stop. */
  readonly stopping: AbortSignal
  /** Aborted when it has to stop without waiting for jobs. */
  readonly atOnce: AbortSignal
  /** The exit code of a process that stopped. */
  readonly code: number
  /** A middleware that records the jobs in hand. From here on, a rejection that a handler forgot stops nothing. */
  watchJobs(): Middleware
}

/**
 * Handles signals and uncaught errors of a worker's process, from before it starts. It knows the jobs in hand, because one
 * of them is to blame, or is what the stop waits for.
 */
export function createGuard(log: Logger, graceMs: number): Guard {
  const inHand = new Map<string, RunningJob>()
  const stopping = new AbortController()
  const atOnce = new AbortController()
  let code: number = EXIT.done

  const jobsInHand = () =>
    Array.from(inHand.values())
      .slice(0, MAX_NAMED)
      .map(({ id, topic, run }) => ({ id, topic, run }))

  const report = () => {
    const what = inHand.size > 0 ? count(inHand.size, 'job') : 'the database (all jobs have ended)'
    log.info({ jobs: jobsInHand() }, `still waiting for ${what}`)
  }

  function stop(): void {
    if (stopping.signal.aborted) {
      atOnce.abort()
    } else {
      systemRuntime.every(REPORT_MS, report).unref()
      stopping.abort()
    }
  }

  onStopSignals((signal) => {
    const isRepeated = stopping.signal.aborted
    if (isRepeated) code = 128 + constants.signals[signal]
    const waiting =
      inHand.size === 0
        ? 'no running jobs'
        : `waiting up to ${formatDuration(graceMs)} for ${count(inHand.size, 'job')}; a second signal stops at once`
    log.info({ signal, jobs: jobsInHand() }, isRepeated ? 'stopping at once' : `stopping: ${waiting}`)
    stop()
  })

  process.on('uncaughtException', (err) => {
    log.error({ err, jobs: jobsInHand() }, 'uncaught exception; stopping')
    code = EXIT.failed
    // What threw may be in any state, so a second one stops at once.
    stop()
  })

  return {
    stopping: stopping.signal,
    atOnce: atOnce.signal,
    get code() {
      return code
    },
    watchJobs() {
      process.on('unhandledRejection', (reason) => {
        log.error({ err: toError(reason), jobs: jobsInHand() }, 'unhandled promise rejection')
      })
      return async (job, { attempt }, next) => {
        inHand.set(job.id, job)
        log.debug({ job: job.id, topic: job.topic, run: job.run, attempt }, 'run started')
        try {
          return await next()
        } finally {
          inHand.delete(job.id)
        }
      }
    },
  }
}

function toError(reason: unknown): Error {
  try {
    return reason instanceof Error ? reason : new Error(`not an Error: ${inspect(reason)}`)
  } catch {
    // A value that throws when it is inspected, such as a proxy.
    return new Error('not an Error, and it cannot be inspected')
  }
}
