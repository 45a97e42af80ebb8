import type { AlertRow, Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { type Logger, Loop, type Runtime, type Service, systemRuntime, Term } from '@oncue/runtime'
import { evaluate } from './evaluate.ts'
import { readFacts } from './facts.ts'
import { byGroup, type Notify, notificationOf } from './notification.ts'

const TERM_MS = 15_000
/** Between two evaluations. Each counts the live jobs: with millions of them it rests for longer. */
const REST_MS = 5_000
const MAX_REST_MS = 10_000
const REST_FACTOR = 5

/** Limit per channel. Further alerts are summed up in one message. */
export const MESSAGES_PER_MINUTE = 5
const MINUTE_MS = 60_000

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
  /** When this process sent messages in the last minute: an alert that fires again has only its last time stored. */
  #sent: Date[] = []

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
    const untold = await control.alerts.untold()
    if (untold.length === 0) return
    const groups = byGroup(untold)
    const open = await control.alerts.openIn(untold.map(({ groupId, id }) => groupId ?? id))
    const since = new Date(now.getTime() - MINUTE_MS)
    this.#sent = this.#sent.filter((at) => at > since)
    const stored = await control.alerts.toldSince(since)
    const sent = new Set([...stored, ...this.#sent].map((at) => at.getTime()))
    for (const [nth, alerts] of messages(groups, MESSAGES_PER_MINUTE - sent.size).entries()) {
      try {
        await notify(notificationOf(alerts, open, now))
        // Each message gets a distinct time, by which messages are counted.
        const at = new Date(now.getTime() + nth)
        this.#sent.push(at)
        for (const { id, transitions } of alerts) await control.alerts.told(id, transitions, at)
      } catch (error) {
        log.warn(
          { err: error, alerts: alerts.map(({ id }) => id) },
          'could not enqueue the notification of an alert; retrying at the next evaluation',
        )
      }
    }
  }
}

/** One message per group; the last allowed one contains all remaining groups. If none is allowed, they wait. */
function messages(groups: readonly AlertRow[][], allowed: number): AlertRow[][] {
  if (allowed <= 0) return []
  if (groups.length <= allowed) return [...groups]
  return [...groups.slice(0, allowed - 1), groups.slice(allowed - 1).flat()]
}
