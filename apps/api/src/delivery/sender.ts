import type { ChannelRow, Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { type Runtime, timeoutSignal } from '@oncue/runtime'
import type { AddressGuard } from './addresses.ts'
import type { AlertMessage, Sent } from './alert-message.ts'
import { type IncidentUrls, sendToIncidents } from './incidents.ts'
import type { Mail } from './mail.ts'
import type { Outcome } from './outcome.ts'
import type { Push } from './push.ts'
import type { WebPush } from './web-push.ts'
import { sendToUrl } from './webhook.ts'

export interface SenderOptions {
  readonly store: Store
  readonly control: Control
  readonly guard: AddressGuard
  readonly push: Push
  readonly webPush: WebPush
  readonly mail: Mail
  readonly incidents: IncidentUrls
  readonly environment: string | null
  /** Where people reach this server; null: notifications have no links. */
  readonly publicUrl: string | null
  readonly runtime: Runtime
}

/** For one attempt, with all its requests: shorter than the lease of its job. */
export const ATTEMPT_MS = 30_000

/** Makes one attempt to send to one channel: for a job, or for a test. */
export class Sender {
  readonly #options: SenderOptions

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** `id` is the same for all attempts of one delivery. Records the outcome before it returns. */
  async attempt(
    channel: ChannelRow,
    id: string,
    message: AlertMessage,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { store, environment, publicUrl } = this.#options
    const url = publicUrl === null ? null : publicUrl + message.path
    const sent = { id, message, environment, publicUrl, url, now: await store.now() }
    const outcome = await this.#sendInTime(channel, sent, signal)
    await this.record(channel, outcome)
    return outcome
  }

  /** Leaves a receiver that keeps talking: it must not occupy a slot of deliveries, or keep this process from stopping. */
  async #sendInTime(channel: ChannelRow, sent: Sent, stop: AbortSignal): Promise<Outcome> {
    const deadline = timeoutSignal(ATTEMPT_MS, this.#options.runtime)
    const signal = AbortSignal.any([stop, deadline])
    try {
      return await Promise.race([this.#send(channel, sent, signal), untilAborted(signal)])
    } catch (error) {
      if (stop.aborted || !deadline.aborted) throw error
      return { kind: 'failed', error: `not sent within ${ATTEMPT_MS / 1_000} s` }
    }
  }

  #send(channel: ChannelRow, sent: Sent, signal: AbortSignal): Promise<Outcome> {
    const { guard, runtime, push, webPush, mail, incidents } = this.#options
    const means = { guard, runtime, signal }
    switch (channel.kind) {
      case 'push':
        return push.send(channel.address, sent, signal)
      case 'web_push':
        return webPush.send(channel, sent, means)
      case 'email':
        return mail.send(channel, sent, signal)
      case 'pagerduty':
      case 'opsgenie':
        return sendToIncidents(channel, sent, incidents, means)
      case 'webhook':
      case 'slack':
      case 'ntfy':
        return sendToUrl(channel, sent, means)
    }
  }

  /** Removes a phone without the app and an unsubscribed browser: they register again when the app is opened. */
  async record({ id, kind, address }: ChannelRow, outcome: Outcome): Promise<void> {
    const { channels } = this.#options.control
    const isGone = outcome.kind === 'gone'
    if (isGone && (kind === 'push' || kind === 'web_push')) return channels.dropPush(address)
    return channels.record(
      id,
      outcome.kind === 'delivered' ? { error: null } : { error: outcome.error, disable: isGone },
    )
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
