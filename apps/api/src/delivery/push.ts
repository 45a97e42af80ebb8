import { Expo, type ExpoPushMessage } from 'expo-server-sdk'
import { Batcher } from '../enqueue/batcher.ts'
import { MESSAGE_TITLES, type Sent } from './alert-message.ts'
import { type ExpoOptions, ExpoRefusal, ExpoService, type Fault, type Receipt, type Ticket } from './expo.ts'
import { isLater, type Outcome, outcomeOfSilence } from './outcome.ts'

type Item<What> = { readonly what: What; readonly signal: AbortSignal }

/** Sends to phones. Concurrent messages share a request. */
export class Push {
  readonly #expo: ExpoService
  readonly #messages: Batcher<Item<ExpoPushMessage>, Ticket | Error>
  readonly #receipts: Batcher<Item<string>, Receipt | undefined>

  constructor(options: ExpoOptions) {
    this.#expo = new ExpoService(options)
    this.#messages = new Batcher((items) => this.#sendBisected(items), {
      maxItems: Expo.pushNotificationChunkSizeLimit,
      maxAtOnce: 1,
      runtime: options.runtime,
    })
    this.#receipts = new Batcher((items) => this.#readReceipts(items), {
      maxItems: Expo.pushNotificationReceiptChunkSizeLimit,
      maxAtOnce: 1,
      runtime: options.runtime,
    })
  }

  async send(pushToken: string, sent: Sent, signal: AbortSignal): Promise<Outcome> {
    const ticket = await this.#messages.add({ what: toMessage(pushToken, sent), signal })
    if (ticket instanceof Error) return outcomeOfError(ticket)
    return ticket.status === 'ok' ? { kind: 'delivered', receiptId: ticket.id } : outcomeOfFault(ticket)
  }

  /** Whether Apple or Google accepted it. Undefined: not known yet. Throws when Expo cannot be reached. */
  async receipt(id: string, signal: AbortSignal): Promise<Outcome | undefined> {
    const receipt = await this.#receipts.add({ what: id, signal })
    if (receipt === undefined) return undefined
    return receipt.status === 'ok' ? { kind: 'delivered' } : outcomeOfFault(receipt)
  }

  /**
   * Expo accepts or refuses a request as a whole, for instance because two of its phones belong to different projects.
   * A refused batch is halved until the messages at fault stand alone.
   */
  async #sendBisected(items: readonly Item<ExpoPushMessage>[]): Promise<(Ticket | Error)[]> {
    try {
      return await this.#expo.send(whats(items), whileAll(items))
    } catch (error) {
      const isOfSome = error instanceof ExpoRefusal && REFUSES_MESSAGES.includes(error.status)
      if (!isOfSome || items.length === 1) return items.map(() => error as Error)
      const middle = Math.ceil(items.length / 2)
      const first = await this.#sendBisected(items.slice(0, middle))
      return [...first, ...(await this.#sendBisected(items.slice(middle)))]
    }
  }

  async #readReceipts(items: readonly Item<string>[]): Promise<(Receipt | undefined)[]> {
    const receipts = await this.#expo.receipts(whats(items), whileAll(items))
    return items.map(({ what }) => receipts[what])
  }
}

/** Any other status is not about the messages: the access token is wrong, or the service is busy. */
const REFUSES_MESSAGES = [400, 413]

const whats = <What>(items: readonly Item<What>[]) => items.map(({ what }) => what)
const whileAll = (items: readonly Item<unknown>[]) => AbortSignal.any(items.map(({ signal }) => signal))

const TITLES = { ...MESSAGE_TITLES, 'alert.firing': 'Alert' } as const

function toMessage(to: string, { message, environment, url }: Sent): ExpoPushMessage {
  const { type, summary, path, alert, groups } = message
  const tag = groups[0]?.id ?? alert?.id
  return {
    to,
    title: TITLES[type] + (environment === null ? '' : ` · ${environment}`),
    body: summary,
    data: { path, ...(url !== null && { url }) },
    sound: 'default',
    priority: 'high',
    channelId: 'alerts',
    // The buttons Ack, Snooze and Open. A resolved alert needs none.
    ...(type === 'alert.firing' && { categoryId: 'alert' }),
    // The message that an alert was resolved replaces the alert.
    ...(tag !== undefined && { collapseId: tag, tag }),
  }
}

/** Errors of Expo, Apple and Google after which another attempt may help. */
const PASSING = ['MessageRateExceeded', 'ExpoError', 'ProviderError']

/** Only the code: Expo's message contains the push token, which is a secret. */
function outcomeOfFault({ details }: Fault): Outcome {
  const code = details?.error ?? 'an error'
  const error = `Expo returned ${code}`
  if (code === 'DeviceNotRegistered') return { kind: 'gone', error }
  return { kind: PASSING.includes(code) ? 'failed' : 'refused', error }
}

function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof ExpoRefusal)) return outcomeOfSilence(error)
  const { message, status, retryAfterMs } = error
  return isLater(status)
    ? { kind: 'failed', error: message, retryAfterMs }
    : { kind: 'refused', error: message }
}
