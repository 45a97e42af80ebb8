import type { Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { type Logger, Loop, type Runtime, type Service, systemRuntime, Term } from '@oncue/runtime'
import { evaluate } from './evaluate.ts'
import { readFacts } from './facts.ts'
import { type Notify, notificationOf } from './notification.ts'

const TERM_MS = 15_000
/** Between two evaluations. Each counts the live jobs: with millions of them it rests for longer. */
const REST_MS = 5_000
const MAX_REST_MS = 10_000
const REST_FACTOR = 5

export interface EvaluatorOptions {
  readonly store: Store
  readonly control: Pick<Control, 'alerts' | 'alertRules'>
  readonly notify: Notify
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly runtime?: Runtime | undefined
}

/**
 * Evaluates the alert rules every 5 s. Leader-elected: one API process at a time. Workers cannot do it, because an alert must
 * fire when no worker is left.
 */
export class AlertEvaluator implements Service {
  readonly #options: EvaluatorOptions
  readonly #term: Term
  readonly #loop: Loop

  constructor(options: EvaluatorOptions) {
    const { store, log, runtime = systemRuntime } = options
    this.#options = options
    this.#term = new Term({ store, what: 'alerts', by: runtime.uuid(), termMs: TERM_MS })
    this.#loop = new Loop({
      what: 'evaluating alert rules',
      log,
      runtime,
      work: async () => {
        const startedAt = runtime.monotonic()
        await this.tick()
        const tookMs = runtime.monotonic() - startedAt
        return Math.min(Math.max(REST_MS, REST_FACTOR * tookMs), MAX_REST_MS)
      },
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** One evaluation, if this process leads. */
  async tick(): Promise<void> {
    if (!(await this.#term.take())) return
    const { store, control } = this.#options
    // Workers rescue the jobs of dead workers; when the last one has died, this is the only rescue.
    await store.rescue()
    const [rules, open] = await Promise.all([control.alertRules.list(), control.alerts.episodes()])
    const facts = await readFacts(store, rules)
    const changes = evaluate(facts, rules, open)
    if (open.length > 0 || changes.length > 0) await store.alerts.record(facts.now, changes)
    await this.#notify(facts.now)
  }

  /** Waits for the evaluation that is under way, and lets another process lead. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#term.end()
  }

  /**
   * A change is stored together with the fact that it has not been announced. If this process dies in between, the next
   * evaluation announces it; a notification that is handed over twice has the same id.
   */
  async #notify(now: Date): Promise<void> {
    const { control, notify, log } = this.#options
    for (const alert of await control.alerts.untold()) {
      try {
        await notify(notificationOf(alert, now))
        await control.alerts.told(alert.id, alert.transitions)
      } catch (error) {
        log.warn(
          { err: error, alert: alert.id },
          'could not enqueue the notification of an alert; retrying at the next evaluation',
        )
      }
    }
  }
}
