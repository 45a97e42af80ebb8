import { newJobId } from '@oncue/core'
import type { AlertRow, ChannelRow, Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { type Logger, type Runtime, type Service, systemRuntime } from '@oncue/runtime'
import { acknowledgementOf, type Notification } from '../alerts/notification.ts'
import { AddressGuard, type Resolve } from './addresses.ts'
import { toAlertMessage } from './alert-message.ts'
import type { IncidentUrls } from './incidents.ts'
import { createHandlers, toNotifyJob } from './jobs.ts'
import { Mail, type MailOptions } from './mail.ts'
import { Push } from './push.ts'
import { Runner } from './runner.ts'
import { Sender } from './sender.ts'
import { WebPush } from './web-push.ts'

export interface DeliveryOptions {
  readonly store: Store
  readonly control: Control
  readonly log: Logger
  readonly allowPrivateAddresses: boolean
  readonly pushUrl: string
  /** Expo's, for projects that require one. */
  readonly pushAccessToken: string | null
  readonly incidents: IncidentUrls
  /** Null: channels cannot be e-mail addresses. */
  readonly mail: MailOptions | null
  readonly environment: string | null
  readonly publicUrl: string | null
  /** Names to addresses; the system's. */
  readonly resolve?: Resolve | undefined
  readonly runtime?: Runtime | undefined
}

/** Services that keep incidents, and so want to know of acknowledgements. */
const KEEPS_INCIDENTS: ReadonlySet<ChannelRow['kind']> = new Set(['pagerduty', 'opsgenie'])

/** Sends notifications over channels. Each is a job of the internal queue, which this process runs. */
export class Delivery implements Service {
  readonly #store: Store
  readonly #control: Control
  readonly #sender: Sender
  readonly #runner: Runner
  #stopping = new AbortController()
  /** Decides which URLs a channel may have. */
  readonly guard: AddressGuard
  readonly webPush: WebPush
  readonly mail: Mail

  constructor({ store, control, log, runtime = systemRuntime, ...options }: DeliveryOptions) {
    const { environment, publicUrl, pushUrl: url, pushAccessToken: accessToken } = options
    const push = new Push({ url, accessToken, runtime })
    this.guard = new AddressGuard(options.allowPrivateAddresses, options.resolve)
    this.#store = store
    this.#control = control
    const isSecure = publicUrl?.startsWith('https:') === true
    const contact = isSecure ? publicUrl : `mailto:${options.mail?.from ?? 'oncue@localhost'}`
    const publicGuard = new AddressGuard(false, options.resolve)
    this.webPush = new WebPush({ store, control, guard: this.guard, publicGuard, contact })
    this.mail = new Mail(options.mail)
    const { guard, webPush, mail } = this
    const means = { guard, push, webPush, mail, incidents: options.incidents }
    this.#sender = new Sender({ store, control, ...means, environment, publicUrl, runtime })
    const handlers = createHandlers({ store, control, runtime }, this.#sender, push)
    this.#runner = new Runner({ store, log, handlers, runtime })
  }

  start(): void {
    if (this.#stopping.signal.aborted) this.#stopping = new AbortController()
    this.#runner.start()
  }

  /** Returns once a job is stored for every channel. A notification that is handed over twice is sent once. */
  async notify(notification: Notification): Promise<void> {
    await this.#enqueue(notification, () => true)
  }

  /** Where all alerts of a group are acknowledged, so is the incident that a service keeps of it. */
  async acknowledge(acked: readonly AlertRow[]): Promise<void> {
    const { alerts } = this.#control
    const open = await alerts.openIn(acked.map(({ groupId, id }) => groupId ?? id))
    const notification = acknowledgementOf(acked, open, await this.#store.now())
    if (notification) await this.#enqueue(notification, ({ kind }) => KEEPS_INCIDENTS.has(kind))
  }

  async #enqueue(notification: Notification, isFor: (channel: ChannelRow) => boolean): Promise<void> {
    const channels = (await this.#control.channels.list()).filter(
      (channel) => channel.enabled && isFor(channel),
    )
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
    const summary = 'Notifications arrive here'
    const at = await this.#store.now()
    const about = { summary, alert: null, alerts: [], groups: [], path: '/alerts' }
    const message = toAlertMessage({ id: 'test', kind: 'test', at, ...about })
    const id = newJobId(at.getTime())
    const outcome = await this.#sender.attempt(channel, id, message, this.#stopping.signal)
    if (outcome.kind === 'delivered') return { delivered: true, error: null }
    const isDisabled = outcome.kind === 'gone' ? ', so the channel was disabled' : ''
    return { delivered: false, error: `${outcome.error}${isDisabled}` }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#runner.stop()
  }
}
