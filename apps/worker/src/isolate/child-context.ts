import type { JobContext, JobLog, OncueError, RunningJob } from '@oncue/core'
import { encodeJson } from '@oncue/core/internal'
import { forgettable } from '../forgettable.ts'
import { createJobLog } from '../run/job-log.ts'
import { createSteps } from '../run/steps.ts'
import type { Called, Calls, Told } from './messages.ts'
import { packError } from './packed-error.ts'

/** The way to the context in the parent, which does all the work. */
export interface Line {
  tell(told: Told): void
  call(called: Called): Promise<unknown>
}

/**
 * What an isolated handler gets. Values are made JSON here and not on the line, which would take a class
 * apart without asking for its toJSON.
 */
export class ChildContext implements JobContext {
  readonly job: RunningJob
  readonly attempt: number
  readonly signal: AbortSignal
  readonly log: JobLog
  readonly progress: JobContext['progress']
  readonly step: JobContext['step']
  readonly checkpoint: JobContext['checkpoint']
  readonly emit: JobContext['emit']
  readonly spawn: JobContext['spawn']
  readonly enqueue: JobContext['enqueue']
  readonly #controller = new AbortController()

  constructor(job: RunningJob, line: Line) {
    const call = <Method extends keyof Calls>(method: Method, ...args: Parameters<Calls[Method]>) =>
      line.call({ method, args } as Called) as ReturnType<Calls[Method]>

    this.job = job
    this.attempt = job.retries + job.crashes + 1
    this.signal = this.#controller.signal
    this.log = toldLog(line)
    this.progress = (value) => line.tell({ method: 'progress', args: [toJson(value, 'progress')] })
    this.step = createSteps(
      job,
      (afterVersion) => call('events', afterVersion),
      (event) => call('keep', event),
      (error) => line.tell({ method: 'unstored', args: [packError(error, job.topic)] }),
    )
    const checkpoint = async (cursor: unknown) => call('checkpoint', toJson(cursor, 'cursor'))
    const emit = async (type: string, data: unknown) =>
      call('emit', type, data === undefined ? data : toJson(data, 'event'))
    this.checkpoint = (cursor) => forgettable(checkpoint(cursor))
    this.emit = (type, data) => forgettable(emit(type, data))
    this.spawn = async (topic, payload, options) => call('spawn', topic, toJson(payload, 'payload'), options)
    this.enqueue = async (topic, payload, options) =>
      call('enqueue', topic, toJson(payload, 'payload'), options)
  }

  abort(reason: OncueError): void {
    this.#controller.abort(reason)
  }
}

function toJson(value: unknown, kind: Parameters<typeof encodeJson>[1]): unknown {
  return JSON.parse(encodeJson(value, kind))
}

/** Made plain here, written by the parent. */
function toldLog(line: Line): JobLog {
  const tell = (level: keyof JobLog) => (fields: object, message: string) =>
    line.tell({ method: 'log', args: [level, message, fields] })
  const log = {
    debug: tell('debug'),
    info: tell('info'),
    warn: tell('warn'),
    error: tell('error'),
    child: () => log,
  }
  return createJobLog(log, () => {})
}
