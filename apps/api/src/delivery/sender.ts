import type { ChannelRow, Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
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
}

/** One attempt to tell one channel, whoever makes it: a job, or somebody who wants to know whether it works. */
export class Sender {
  readonly #options: SenderOptions

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** `id` is the same for all attempts of one delivery. How it went is written down before this returns. */
  async attempt(
    channel: ChannelRow,
    id: string,
    message: AlertMessage,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { store, guard, push, environment, publicUrl } = this.#options
    const url = publicUrl === null ? null : publicUrl + message.path
    const sent = { id, message, environment, url, now: await store.now() }
    const outcome = await (channel.kind === 'push'
      ? push.send(channel.address, sent, signal)
      : sendToUrl(channel, sent, guard, signal))
    await this.record(channel, outcome)
    return outcome
  }

  /** A phone without the app is forgotten: it tells its new push token when it is back. */
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
