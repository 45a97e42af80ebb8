import { OncueError } from '@oncue/core'
import type { Alert, Health } from '@oncue/core/wire'
import type { BulkOperationRow } from '@oncue/db'
import type { Service } from '@oncue/runtime'
import { showAlert } from '../alerts/notification.ts'
import type { Services } from '../context.ts'
import { FactReader } from '../health/facts.ts'
import { measure } from '../health/measure.ts'
import { VERSION } from '../version.ts'
import { PolledValue } from './polled-value.ts'
import { StateHub } from './states.ts'

/** Open streams and waits per caller: far more than a team has screens, far fewer than a runaway loop opens. */
const MAX_OPEN = 1_000
/** Alerts in a stream; the list has the rest. */
const MAX_ALERTS = 200

type Source = Pick<Services, 'store' | 'control'> & Partial<Pick<Services, 'runtime'>>

export interface OpenAlerts {
  readonly now: Date
  /** The latest first. */
  readonly alerts: Alert[]
}

/** Everything that can be watched, shared by all who watch. */
export class Live implements Service {
  readonly states: StateHub
  readonly bulkOperations: StateHub<BulkOperationRow>
  readonly health: PolledValue<Health>
  readonly alerts: PolledValue<OpenAlerts>
  readonly #closing = new AbortController()
  readonly #open = new Map<string, number>()

  constructor(source: Source, environment: string | null = null) {
    const { store, control, runtime } = source
    this.states = new StateHub((ids) => store.glance(ids), { runtime })
    this.bulkOperations = new StateHub((ids) => control.bulkOperations.find(ids), { runtime })
    this.health = createHealth(source, environment)
    this.alerts = createOpenAlerts(source)
  }

  /** Aborted when the server stops. Streams then end without a final message, so that clients reconnect. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Counts one more stream or wait of this caller, until the returned function is called. */
  enter(caller: string): () => void {
    const open = this.#open.get(caller) ?? 0
    if (open >= MAX_OPEN)
      throw new OncueError('RATE_LIMITED', `More than ${MAX_OPEN} streams and waits are open`, {
        hint: 'Close streams you no longer need, or use another token.',
      })
    this.#open.set(caller, open + 1)
    return () => {
      const left = (this.#open.get(caller) ?? 1) - 1
      if (left > 0) this.#open.set(caller, left)
      else this.#open.delete(caller)
    }
  }

  start(): void {}

  /** Ends all streams, for good: their clients reconnect to another process. */
  async stop(): Promise<void> {
    this.#closing.abort()
    await Promise.all([
      this.states.stop(),
      this.bulkOperations.stop(),
      this.health.stop(),
      this.alerts.stop(),
    ])
  }
}

export function createHealth(
  { store, control, runtime }: Source,
  environment: string | null,
  maxAgeMs?: number,
): PolledValue<Health> {
  const facts = new FactReader(store, control, runtime)
  const about = { dialect: store.dialect, version: VERSION, environment }
  const read = async () => ({ ...about, ...measure(await facts.read()) })
  return new PolledValue({ read, versionOf: versionOfHealth, maxAgeMs, runtime })
}

/** Without what time alone changes: that is sent once a minute, and clients count the seconds in between. */
function versionOfHealth({ now, throughput: _, oldestWaiting, queues, ...rest }: Health): string {
  const minute = Math.trunc(now.getTime() / 60_000)
  return JSON.stringify([
    minute,
    rest,
    oldestWaiting.value,
    queues.map(({ throughput: _, drainMs: __, ...queue }) => queue),
  ])
}

function createOpenAlerts({ store, control, runtime }: Source): PolledValue<OpenAlerts> {
  const read = async () => {
    const [now, { items }] = await Promise.all([
      store.now(),
      control.alerts.list({ state: 'open' }, { limit: MAX_ALERTS }),
    ])
    return { now, alerts: items.map((row) => showAlert(row, now)) }
  }
  return new PolledValue({ read, versionOf: ({ alerts }) => JSON.stringify(alerts), runtime })
}
