import type { ChannelRow, Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import type { Runtime } from '@oncue/runtime'
import type { AddressGuard } from './addresses.ts'
import type { AlertMessage } from './alert-message.ts'
import type { Outcome } from './outcome.ts'
import type { Push } from './push.ts'
import { sendToUrl } from './webhook.ts'

export interface SenderOptions {
  readonly store: Store
  readonly control: Control
  readonly guard: AddressGuard
  readonly push: Push
  readonly environment: string | null
  /** Where people reach this server; null: notifications have no links. */
  readonly publicUrl: string | null
  readonly runtime: Runtime
}

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
    const { store, guard, push, environment, publicUrl, runtime } = this.#options
    const url = publicUrl === null ? null : publicUrl + message.path
    const sent = { id, message, environment, url, now: await store.now() }
    const outcome = await (channel.kind === 'push'
      ? push.send(channel.address, sent, signal)
      : sendToUrl(channel, sent, { guard, runtime }, signal))
    await this.record(channel, outcome)
    return outcome
  }

  /** A phone without the app is dropped: it sends its new push token when the app is back. */
  async record({ id, kind, address }: ChannelRow, outcome: Outcome): Promise<void> {
    const { channels } = this.#options.control
    const isGone = outcome.kind === 'gone'
    if (isGone && kind === 'push') return channels.dropPush(address)
    return channels.record(
      id,
      outcome.kind === 'delivered' ? { error: null } : { error: outcome.error, disable: isGone },
    )
  }
}
