import type { JobError } from '../job/failure.ts'

/** A step failed in an earlier run, whose handler caught the error and went on. `error` is what was stored of it. */
export class StepError extends Error {
  override readonly name = 'StepError'
  readonly step: string
  readonly error: JobError

  constructor(step: string, error: JobError) {
    super(error.message)
    this.step = step
    this.error = error
  }
}
