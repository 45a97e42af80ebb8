import { randomUUID } from 'node:crypto'
import type { Store } from '@oncue/db'
import type { Logger } from '../log.ts'
import { readLoad } from './facts.ts'
import { sampleGauges } from './gauge-samples.ts'

const MINUTE_MS = 60_000
/** Shorter than the time to the next look: a leader that dies is not missed there. */
const TERM_MS = 45_000
const RETRY_MS = 10_000

type Source = Pick<Store, 'now' | 'lead' | 'queues' | 'workers' | 'gauges'>

/** Writes down how full everything is, when each minute begins. Of many processes one does it. */
export class GaugeRecorder {
  readonly #store: Source
  readonly #log: Pick<Logger, 'warn'>
  readonly #id = randomUUID()
  #timer: NodeJS.Timeout | undefined
  #recording: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(store: Source, log: Pick<Logger, 'warn'>) {
    this.#store = store
    this.#log = log
  }

  start(): void {
    this.#recording = this.#goOn()
  }

  /** False: another process does it. */
  async record(): Promise<boolean> {
    if (!(await this.#store.lead('gauges', this.#id, TERM_MS))) return false
    const { queues, workers } = await readLoad(this.#store)
    await this.#store.gauges.record(sampleGauges(await this.#store.now(), queues, workers))
    return true
  }

  /** Waits for a look that is under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#recording
  }

  async #goOn(): Promise<void> {
    let pauseMs = RETRY_MS
    try {
      await this.record()
      pauseMs = MINUTE_MS - ((await this.#store.now()).getTime() % MINUTE_MS)
    } catch (error) {
      if (!this.#isClosed)
        this.#log.warn({ err: error }, 'the gauges could not be written; the next try is in 10 s')
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => this.start(), pauseMs).unref()
  }
}
