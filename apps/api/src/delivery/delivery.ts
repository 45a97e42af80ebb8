import { newJobId } from '@oncue/core'
import type { ChannelRow, Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import type { Notification } from '../alerts/notification.ts'
import type { Logger } from '../log.ts'
import { AddressGuard, type Resolve } from './addresses.ts'
import { toAlertMessage } from './alert-message.ts'
import { NOTIFY_TOPIC, notifyHandler, toNotifyJob } from './notify-jobs.ts'
import { Push } from './push.ts'
import { RECEIPT_TOPIC, receiptHandler } from './receipt-jobs.ts'
import { Runner } from './runner.ts'
import { Sender } from './sender.ts'

export interface DeliveryOptions {
  readonly store: Store
  readonly control: Control
  readonly log: Logger
  readonly allowPrivateAddresses: boolean
  readonly pushUrl: string
  /** Of Expo, for projects that want one. */
  readonly pushAccessToken: string | null
  readonly environment: string | null
  readonly publicUrl: string | null
  /** Names to addresses; the system's. */
  readonly resolve?: Resolve | undefined
}

/** Tells people: over webhooks, Slack and push, each a job of Oncue's own queue, which this process runs too. */
export class Delivery {
  readonly #store: Store
  readonly #control: Control
  readonly #sender: Sender
  readonly #runner: Runner
  readonly #closing = new AbortController()
  /** Which URLs a channel may have. */
  readonly guard: AddressGuard

  constructor({ store, control, log, ...options }: DeliveryOptions) {
    const { environment, publicUrl, pushUrl: url, pushAccessToken: accessToken } = options
    const push = new Push({ url, accessToken })
    this.guard = new AddressGuard(options.allowPrivateAddresses, options.resolve)
    this.#store = store
    this.#control = control
    this.#sender = new Sender({ store, control, push, guard: this.guard, environment, publicUrl })
    this.#runner = new Runner(
      store,
      log,
      new Map([
        [NOTIFY_TOPIC, notifyHandler({ store, control }, this.#sender)],
        [RECEIPT_TOPIC, receiptHandler(control, this.#sender, push)],
      ]),
    )
  }

  start(): void {
    this.#runner.start()
  }

  /** Returns once every delivery is stored. Asked for twice, it is delivered once. */
  async notify(notification: Notification): Promise<void> {
    const channels = (await this.#control.channels.list()).filter(({ enabled }) => enabled)
    if (channels.length === 0) return
    await this.#store.enqueue(channels.map((channel) => toNotifyJob(notification, channel)))
    this.wake()
  }

  /** Looks for work at once, and not at the next poll. */
  wake(): void {
    this.#runner.wake()
  }

  /** Sends something now, to see whether it arrives; also where the channel is switched off. */
  async test(channel: ChannelRow): Promise<{ delivered: boolean; error: string | null }> {
    const summary = 'This is a test: notifications arrive here'
    const at = await this.#store.now()
    const message = toAlertMessage({ id: 'test', kind: 'test', at, summary, alert: null, path: '/alerts' })
    const id = newJobId(at.getTime())
    const outcome = await this.#sender.attempt(channel, id, message, this.#closing.signal)
    return {
      delivered: outcome.kind === 'delivered',
      error: outcome.kind === 'delivered' ? null : outcome.error,
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#runner.close()
  }
}
