import { newJobId } from '@oncue/core'
import type { ChannelRow, Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { type Logger, type Runtime, type Service, systemRuntime } from '@oncue/runtime'
import type { Notification } from '../alerts/notification.ts'
import { AddressGuard, type Resolve } from './addresses.ts'
import { toAlertMessage } from './alert-message.ts'
import { createHandlers, toNotifyJob } from './jobs.ts'
import { Push } from './push.ts'
import { Runner } from './runner.ts'
import { Sender } from './sender.ts'

export interface DeliveryOptions {
  readonly store: Store
  readonly control: Control
  readonly log: Logger
  readonly allowPrivateAddresses: boolean
  readonly pushUrl: string
  /** Expo's, for projects that require one. */
  readonly pushAccessToken: string | null
  readonly environment: string | null
  readonly publicUrl: string | null
  /** Names to addresses; the system's. */
  readonly resolve?: Resolve | undefined
  readonly runtime?: Runtime | undefined
}

/** Sends notifications over webhooks, Slack and push. Each is a job of the internal queue, which this process runs. */
export class Delivery implements Service {
  readonly #store: Store
  readonly #control: Control
  readonly #sender: Sender
  readonly #runner: Runner
  #stopping = new AbortController()
  /** Decides which URLs a channel may have. */
  readonly guard: AddressGuard

  constructor({ store, control, log, runtime = systemRuntime, ...options }: DeliveryOptions) {
    const { environment, publicUrl, pushUrl: url, pushAccessToken: accessToken } = options
    const push = new Push({ url, accessToken, runtime })
    this.guard = new AddressGuard(options.allowPrivateAddresses, options.resolve)
    this.#store = store
    this.#control = control
    this.#sender = new Sender({ store, control, push, guard: this.guard, environment, publicUrl, runtime })
    const handlers = createHandlers({ store, control, runtime }, this.#sender, push)
    this.#runner = new Runner({ store, log, handlers, runtime })
  }

  start(): void {
    if (this.#stopping.signal.aborted) this.#stopping = new AbortController()
    this.#runner.start()
  }

  /** Returns once a job is stored for every channel. A notification that is handed over twice is sent once. */
  async notify(notification: Notification): Promise<void> {
    const channels = (await this.#control.channels.list()).filter(({ enabled }) => enabled)
    if (channels.length === 0) return
    await this.#store.enqueue(channels.map((channel) => toNotifyJob(notification, channel)))
    this.wake()
  }

  /** Claims jobs now instead of with the next poll. */
  wake(): void {
    this.#runner.wake()
  }

  /** Sends a test now, also over a disabled channel. */
  async test(channel: ChannelRow): Promise<{ delivered: boolean; error: string | null }> {
    const summary = 'Test: notifications arrive here'
    const at = await this.#store.now()
    const message = toAlertMessage({ id: 'test', kind: 'test', at, summary, alert: null, path: '/alerts' })
    const id = newJobId(at.getTime())
    const outcome = await this.#sender.attempt(channel, id, message, this.#stopping.signal)
    return {
      delivered: outcome.kind === 'delivered',
      error: outcome.kind === 'delivered' ? null : outcome.error,
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#runner.stop()
  }
}
