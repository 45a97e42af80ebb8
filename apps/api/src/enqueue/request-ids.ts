import { hash, randomBytes } from 'node:crypto'
import { type JobId, LIMITS, type NewJob } from '@oncue/core'
import type { Store } from '@oncue/db'
import { type Runtime, systemRuntime } from '@oncue/runtime'

/** The part of a request id that is kept: time and counter, so that jobs keep the order of their requests. */
const KEPT = 'xxxxxxxx-xxxx-7xxx-8xxx-'.length
/** The rest of an id. */
const HEX_DIGITS = 12

/**
 * Ids of jobs, derived from the ids of requests: a request that is sent again has the id of the job that the first one
 * made. The server's key goes into them, so that a caller can neither guess nor choose the id of another's job.
 */
export class RequestIds {
  readonly #key: string
  readonly #runtime: Runtime

  constructor(key: string, runtime: Runtime = systemRuntime) {
    this.#key = key
    this.#runtime = runtime
  }

  /** With the key that all API processes of this database share. */
  static async open({ settings }: Store, runtime: Runtime): Promise<RequestIds> {
    const key = await settings.secret('request_ids', () => randomBytes(32).toString('base64'))
    return new RequestIds(key, runtime)
  }

  /**
   * The job as it is stored. If the caller sent an idempotency key, only that counts. A job with a unique key may
   * return another job, and a client's clock may be wrong: these get an idempotency key instead of a derived id. A
   * repeat gets both, because at the first attempt the clock may have been right or wrong, unlike now.
   */
  apply(job: NewJob, holder: string, requestId: JobId, isRepeat: boolean): NewJob {
    if (job.idempotencyKey !== null) return job
    const id = this.#derive(holder, job.topic, requestId)
    if (job.unique !== null) return { ...job, idempotencyKey: id }
    if (isRepeat) return { ...job, id, idempotencyKey: id, request: 'repeat' }
    return this.#isTimely(requestId) ? { ...job, id, request: 'first' } : { ...job, idempotencyKey: id }
  }

  /**
   * A hash that begins with the key, and of which an id shows 48 bits: SHA-512/256 cannot be continued by someone who
   * knows a digest but not the key. An HMAC costs three times as much, which was a tenth of a batch.
   */
  #derive(holder: string, topic: string, requestId: JobId): JobId {
    const digest = hash('sha512-256', `${this.#key}\0${holder}\0${topic}\0${requestId}`, 'hex')
    return requestId.slice(0, KEPT) + digest.slice(0, HEX_DIGITS)
  }

  #isTimely(requestId: JobId): boolean {
    const time = Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16)
    return Math.abs(this.#runtime.now() - time) < LIMITS.idempotencyMs
  }
}
