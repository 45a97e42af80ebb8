import { randomUUID } from 'node:crypto'
import type { Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import type { Logger } from '../log.ts'
import { evaluate } from './evaluate.ts'
import { readFacts } from './facts.ts'
import type { Notify } from './notification.ts'
import { notificationOf } from './show.ts'

const TERM_MS = 15_000
/** Between two looks. Live jobs have to be counted: where there are millions, it rests for longer. */
const REST_MS = 5_000
const MAX_REST_MS = 10_000
const REST_FACTOR = 5

export interface EvaluatorOptions {
  readonly store: Store
  readonly control: Pick<Control, 'alerts' | 'alertRules'>
  readonly notify: Notify
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Looks every few seconds how everything is, and sees to the alerts. Of all API processes one does it at a time.
 * It is done here and not by workers, because somebody must notice that no worker is left.
 */
export class AlertEvaluator {
  readonly #store: Store
  readonly #control: EvaluatorOptions['control']
  readonly #notify: Notify
  readonly #log: Pick<Logger, 'warn'>
  readonly #id = randomUUID()
  #timer: NodeJS.Timeout | undefined
  #ticking: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor({ store, control, notify, log }: EvaluatorOptions) {
    this.#store = store
    this.#control = control
    this.#notify = notify
    this.#log = log
  }

  start(): void {
    this.#ticking = this.#goOn()
  }

  /** One look, if this process leads. */
  async tick(): Promise<void> {
    const store = this.#store
    if (!(await store.lead('alerts', this.#id, TERM_MS))) return
    // Workers see to their dead; when the last one died nobody else does.
    await store.rescue()
    const { alertRules, alerts } = this.#control
    const [rules, open] = await Promise.all([alertRules.list(), alerts.episodes()])
    const facts = await readFacts(store, rules)
    const changes = evaluate(facts, rules, open)
    if (open.length > 0 || changes.length > 0) await store.alerts.record(facts.now, changes)
    await this.#tell(facts.now)
  }

  /** Waits for a look that is under way, and lets another process lead. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#ticking
    await this.#store.stepDown('alerts', this.#id).catch(() => {})
  }

  /**
   * What changed is noted as untold together with the change. So a process that dies in between leaves it to the
   * next look, and what is handed over twice has the same id.
   */
  async #tell(now: Date): Promise<void> {
    for (const alert of await this.#control.alerts.untold()) {
      try {
        await this.#notify(notificationOf(alert, now))
        await this.#control.alerts.told(alert.id, alert.transitions)
      } catch (error) {
        this.#log.warn(
          { err: error, alert: alert.id },
          'nobody could be told of an alert; the next look tries again',
        )
      }
    }
  }

  async #goOn(): Promise<void> {
    const startedAt = performance.now()
    try {
      await this.tick()
    } catch (error) {
      this.#log.warn({ err: error }, 'alerts could not be evaluated; the next look is in a few seconds')
    }
    const tookMs = performance.now() - startedAt
    const restMs = Math.min(Math.max(REST_MS, REST_FACTOR * tookMs), MAX_REST_MS)
    if (!this.#isClosed) this.#timer = setTimeout(() => this.start(), restMs).unref()
  }
}
