import type { Store } from '@oncue/db'
import { Loop, type LoopOptions, type Service, systemRuntime, Term } from '@oncue/runtime'
import { readLoad } from './facts.ts'
import { sampleGauges } from './gauge-samples.ts'

const MINUTE_MS = 60_000
/** Shorter than a minute, so that another process takes over with the next sample when the leader dies. */
const TERM_MS = 45_000

interface GaugeRecorderOptions extends Pick<LoopOptions, 'log' | 'runtime'> {
  readonly store: Pick<Store, 'now' | 'lead' | 'stepDown' | 'queues' | 'workers' | 'gauges'>
}

/** Stores a gauge sample at the start of each minute. Leader-elected: one API process at a time. */
export class GaugeRecorder implements Service {
  readonly #store: GaugeRecorderOptions['store']
  readonly #term: Term
  readonly #loop: Loop

  constructor({ store, log, runtime = systemRuntime }: GaugeRecorderOptions) {
    this.#store = store
    this.#term = new Term({ store, what: 'gauges', by: runtime.uuid(), termMs: TERM_MS })
    this.#loop = new Loop({
      what: 'recording gauges',
      log,
      runtime,
      work: async () => {
        await this.record()
        return MINUTE_MS - ((await store.now()).getTime() % MINUTE_MS)
      },
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** False: another process leads. */
  async record(): Promise<boolean> {
    if (!(await this.#term.take())) return false
    const { queues, workers } = await readLoad(this.#store)
    await this.#store.gauges.record(sampleGauges(await this.#store.now(), queues, workers))
    return true
  }

  /** Waits for the sample that is under way. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }
}
