import type { Alert } from '@oncue/core/wire'
import { type ChannelRow, openStore, type Store } from '@oncue/db'
import { TestClock } from '@oncue/db/conformance'
import { type Control, openControl } from '@oncue/db/control'
import { silentLogger } from '@oncue/runtime'
import { eventually } from '@oncue/testing'
import { expect, onTestFinished } from 'vitest'
import type { Notification } from '../src/alerts/notification.ts'
import { Delivery, type DeliveryOptions } from '../src/delivery/delivery.ts'
import { createDatabase, type Dialect } from './harness.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND

const ALERT: Alert = {
  ...{ id: '01900000-0000-7000-8000-0000000000a1', ruleId: '01900000-0000-7000-8000-0000000000b1' },
  ...{ kind: 'oldest_waiting', queue: 'mail', state: 'firing', value: 720, threshold: 300 },
  ...{ groupId: '01900000-0000-7000-8000-0000000000a1', queues: ['mail'], topic: null, fingerprint: null },
  summary: 'mail: oldest job waits 12 min (limit 5 min)',
  firedAt: new Date('2026-01-01T00:00:00.000Z'),
  ...{ acked: null, snoozed: null, resolvedAt: null, updated: new Date('2026-01-01T00:00:00.000Z') },
}

export function aNotification(changes: Partial<Notification> = {}): Notification {
  return {
    ...{ id: `alert:${ALERT.id}:1`, kind: 'firing', at: new Date('2026-01-01T00:00:00.000Z') },
    ...{
      summary: ALERT.summary,
      alert: ALERT,
      alerts: changes.alert ? [changes.alert] : [ALERT],
      path: `/alerts/${ALERT.id}`,
    },
    groups: [{ id: ALERT.groupId, action: 'trigger', summary: ALERT.summary, path: `/alerts/${ALERT.id}` }],
    ...changes,
  }
}

/** Delivery over a real database, on a clock that is moved by hand. */
export class Office {
  readonly delivery: Delivery
  readonly store: Store
  readonly control: Control
  readonly clock: TestClock

  constructor(delivery: Delivery, store: Store, control: Control, clock: TestClock) {
    this.delivery = delivery
    this.store = store
    this.control = control
    this.clock = clock
  }

  static async open(
    dialect: Dialect,
    { clock = new TestClock(), url, isIdle = false, ...options }: OfficeOptions = {},
  ): Promise<Office> {
    const database = url === undefined ? await createDatabase(dialect) : undefined
    const store = await openStore(url ?? database?.url ?? '', { clock: clock.now })
    const control = await openControl(store)
    const delivery = new Delivery({
      ...{ store, control, log: silentLogger, allowPrivateAddresses: true, pushUrl: 'http://127.0.0.1:1' },
      ...{ pushAccessToken: null, environment: 'production', publicUrl: 'https://oncue.example' },
      ...{ incidents: { pagerDuty: 'http://127.0.0.1:1', opsgenie: 'http://127.0.0.1:1' }, mail: null },
      ...options,
    })
    onTestFinished(async () => {
      await delivery.stop()
      await store.close()
      await database?.drop()
    })
    if (!isIdle) delivery.start()
    return new Office(delivery, store, control, clock)
  }

  webhook(address: string, kind: 'webhook' | 'slack' = 'webhook'): Promise<ChannelRow> {
    return this.control.channels.create({ kind, name: 'pager', address, secret: 'whsec_test' })
  }

  /** Stores a firing alert. */
  async fire(): Promise<Alert> {
    const { ruleId, kind, queue, topic, fingerprint, value, threshold, summary } = ALERT
    const [since, now] = [this.clock.now(), this.clock.now()]
    const episode = { ruleId, kind, queue, value, threshold, summary, since, firedAt: now, transitions: 1 }
    const about = { topic, fingerprint, groupId: ALERT.groupId }
    const marks = { ...about, heldFor: queue === null ? [] : [queue], calmSince: null, resolvedAt: null }
    const after = { ...episode, ...marks, status: 'firing' as const }
    await this.store.alerts.record(now, [{ before: null, after }])
    const [row] = await this.control.alerts.episodes()
    return { ...ALERT, id: row?.id ?? '' }
  }

  async resolve(id: string): Promise<void> {
    const now = this.clock.now()
    const before = await this.control.alerts.get(id)
    const after = { ...before, status: 'resolved' as const, resolvedAt: now, transitions: 2 }
    await this.store.alerts.record(now, [{ before, after }])
  }

  channel(id: string) {
    return this.control.channels.get(id)
  }

  /** The job of the only delivery. */
  async job() {
    const { items } = await this.store.list({ topic: 'oncue:notify' })
    expect(items).toHaveLength(1)
    const job = await this.store.get(items[0]?.id ?? '')
    if (!job) throw new Error('there is no job')
    return job
  }

  async until(check: () => void | Promise<void>): Promise<void> {
    await eventually(check)
  }

  untilStatus(status: string): Promise<void> {
    return this.until(async () => expect((await this.job()).status).toBe(status))
  }

  /** Moves the clock, and polls for due jobs. */
  advance(ms: number): void {
    this.clock.advance(ms)
    this.delivery.wake()
  }
}

type OfficeOptions = Partial<DeliveryOptions> & {
  readonly clock?: TestClock
  /** Uses this database, which the caller drops. */
  readonly url?: string
  /** Only enqueues deliveries, and sends none. */
  readonly isIdle?: boolean
}
