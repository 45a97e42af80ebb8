import { constants } from 'node:os'
import { inspect } from 'node:util'
import type { RunningJob } from '@oncue/core'
import { count, EXIT } from '@oncue/db/cli'
import { formatDuration, type Logger, systemRuntime } from '@oncue/runtime'
import type { Middleware } from '../run/middleware.ts'
import type { RunningWorker } from '../worker.ts'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
type Signal = (typeof SIGNALS)[number]

/** How often to log what a stop still waits for. */
const REPORT_MS = 5_000
const MAX_NAMED = 20

/**
 * Handles signals and uncaught errors of a worker's process. It knows the jobs in hand, because one of them is to
 * blame, or is what the stop waits for.
 */
export function createGuard(log: Logger) {
  const inHand = new Map<string, RunningJob>()

  const middleware: Middleware = async (job, { attempt }, next) => {
    inHand.set(job.id, job)
    log.debug({ job: job.id, topic: job.topic, run: job.run, attempt }, 'run started')
    try {
      return await next()
    } finally {
      inHand.delete(job.id)
    }
  }

  const jobsInHand = () =>
    Array.from(inHand.values())
      .slice(0, MAX_NAMED)
      .map(({ id, topic, run }) => ({ id, topic, run }))

  // A promise that a handler forgot says nothing about the others: they go on.
  process.on('unhandledRejection', (reason) => {
    log.error({ err: toError(reason), jobs: jobsInHand() }, 'unhandled promise rejection')
  })

  /** Resolves with the exit code once the worker has stopped. */
  function stopWhenAsked(worker: RunningWorker, graceMs: number): Promise<number> {
    return new Promise((resolve) => {
      let asked = 0
      let code: number = EXIT.done

      function stop(): void {
        if (asked++ === 0) systemRuntime.every(REPORT_MS, report).unref()
        worker.stop(asked > 1 ? { graceMs: 0 } : {}).then(
          () => resolve(code),
          (err) => {
            log.error({ err }, 'worker did not stop cleanly')
            resolve(EXIT.failed)
          },
        )
      }

      const report = () => {
        const what = inHand.size > 0 ? count(inHand.size, 'job') : 'the database (all jobs have ended)'
        log.info({ jobs: jobsInHand() }, `still waiting for ${what}`)
      }

      const onSignal = (signal: Signal) => {
        if (asked > 0) code = 128 + constants.signals[signal]
        const waiting = `waiting up to ${formatDuration(graceMs)} for ${count(inHand.size, 'job')}; a second signal stops at once`
        log.info({ signal, jobs: jobsInHand() }, asked > 0 ? 'stopping at once' : `stopping: ${waiting}`)
        stop()
      }
      for (const signal of SIGNALS) process.on(signal, onSignal)

      process.on('uncaughtException', (err) => {
        log.error({ err, jobs: jobsInHand() }, 'uncaught exception; stopping')
        code = EXIT.failed
        // What threw may be in any state, so a second one stops at once.
        stop()
      })
    })
  }

  return { middleware, stopWhenAsked }
}

function toError(reason: unknown): Error {
  try {
    return reason instanceof Error ? reason : new Error(`not an Error: ${inspect(reason)}`)
  } catch {
    // A value that throws when it is inspected, such as a proxy.
    return new Error('not an Error, and it cannot be inspected')
  }
}
