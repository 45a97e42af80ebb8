import { type JobId, OncueError } from '@oncue/core'
import type { ClaimedJob, NewSpawn } from '@oncue/db'
import type { Runtime } from '@oncue/runtime'
import type { OutcomeRecorder } from '../outcome-recorder.ts'
import type { Replay } from './replay.ts'

/** Of one transaction. */
const MAX_JOBS = 1_000
const MAX_LENGTH = 8 * 2 ** 20

interface SpawnsOptions {
  readonly job: ClaimedJob
  readonly replay: Replay
  readonly recorder: OutcomeRecorder
  readonly runtime: Runtime
  readonly lose: () => void
}

/** The jobs that a run makes: those of one turn together, and none that an earlier run has made. */
export class Spawns {
  readonly #options: SpawnsOptions
  #waiting: NewSpawn[] = []
  #writing: Promise<void> | undefined

  constructor(options: SpawnsOptions) {
    this.#options = options
  }

  /** Undefined: all are written. */
  get writing(): Promise<void> | undefined {
    return this.#writing
  }

  async add(spawn: NewSpawn): Promise<JobId> {
    const { replay } = this.#options
    const outcome = replay.ask(spawn.key, { isRecorded: true })
    if (!replay.recorded.has(spawn.key)) {
      this.#waiting.push(spawn)
      this.#writing ??= this.#writeAll()
    }
    const [id, hash] = (await outcome).data as [JobId, string]
    if (hash === spawn.hash) return id
    const message = `${JSON.stringify(spawn.key)} made job ${id} with another topic or payload in an earlier run`
    throw new OncueError('SPAWN_CHANGED', message, { details: { jobId: id } })
  }

  async #writeAll(): Promise<void> {
    await this.#options.runtime.sleep(0)
    while (this.#waiting.length > 0) await this.#write(this.#nextBatch())
    this.#writing = undefined
  }

  #nextBatch(): NewSpawn[] {
    let length = 0
    const count = this.#waiting.slice(0, MAX_JOBS).findIndex(({ job }, n) => {
      length += job.payload.length
      return n > 0 && length > MAX_LENGTH
    })
    return this.#waiting.splice(0, count < 0 ? MAX_JOBS : count)
  }

  async #write(spawns: readonly NewSpawn[]): Promise<void> {
    const { job, replay, recorder, lose } = this.#options
    try {
      // The handler has survived these, and made these jobs because of them.
      if (replay.hasFailures) await replay.send([])
      const { id, run } = job
      const outcomes = await recorder.spawn({ id, run, after: replay.recorded.last, spawns })
      if (outcomes) return replay.learn(outcomes)
      lose()
      throw new OncueError('STALE_RUN', `run ${run} of job ${id} lost its lease; nothing was written`)
    } catch (error) {
      const isLost = error instanceof OncueError && (error.code === 'STALE_RUN' || error.retryable)
      // One that the store refuses does not keep the others from being made.
      if (spawns.length > 1 && !isLost) for (const spawn of spawns) await this.#write([spawn])
      else for (const { key } of spawns) replay.reject(key, error)
    }
  }
}
