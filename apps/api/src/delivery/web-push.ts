import { OncueError } from '@oncue/core'
import type { Role, WebPushSubscription } from '@oncue/core/wire'
import type { ChannelRow, Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import webPush from 'web-push'
import { z } from 'zod'
import type { AddressGuard } from './addresses.ts'
import { MESSAGE_TITLES, type Sent } from './alert-message.ts'
import type { Outcome } from './outcome.ts'
import { shorten } from './shorten.ts'
import { type Means, sendContent } from './webhook.ts'

/** How long a push service keeps a message for a browser that is off: after that the alert is old news. */
const TTL_SECONDS = 4 * 3_600
/** A push service takes 4,096 bytes, some of which encryption needs. */
const MAX_BODY = 1_000
const MAX_ALERTS = 20

const keysSchema = z.object({ publicKey: z.string(), privateKey: z.string() })
const subscriptionKeysSchema = z.object({ p256dh: z.string(), auth: z.string() })

export interface WebPushOptions {
  readonly store: Store
  readonly control: Control
  /** For subscriptions of admins, who may make channels of any kind. */
  readonly guard: AddressGuard
  /** For all other subscriptions: every caller who may read jobs can register an address and see how sending went. */
  readonly publicGuard: AddressGuard
  /** A contact for operators of push services: a URL or an e-mail address. */
  readonly contact: string
}

/** Sends to browsers: encrypted for each, and signed with a key that the installation makes once (VAPID). */
export class WebPush {
  readonly #options: WebPushOptions

  constructor(options: WebPushOptions) {
    this.#options = options
  }

  async publicKey(): Promise<string> {
    return (await this.#keys()).publicKey
  }

  /** ADDRESS_NOT_ALLOWED for an address that is not called for this role, INVALID_INPUT for keys that encrypt nothing. */
  async assertUsable({ endpoint, keys }: WebPushSubscription, role: Role | null): Promise<void> {
    await this.#guardOf(role).assertAllowed(new URL(endpoint))
    try {
      webPush.encrypt(keys.p256dh, keys.auth, 'test', 'aes128gcm')
    } catch (cause) {
      throw new OncueError('INVALID_INPUT', 'input.subscription.keys: are not the keys of a browser', {
        cause,
      })
    }
  }

  async send(channel: ChannelRow, sent: Sent, means: Omit<Means, 'guard'>): Promise<Outcome> {
    const keys = subscriptionKeysSchema.parse(JSON.parse(channel.secret ?? '{}'))
    const { endpoint, headers, body } = webPush.generateRequestDetails(
      { endpoint: channel.address, keys },
      JSON.stringify(contentOf(sent)),
      {
        vapidDetails: { subject: this.#options.contact, ...(await this.#keys()) },
        contentEncoding: 'aes128gcm',
        TTL: TTL_SECONDS,
        urgency: 'high',
        ...topicOf(sent),
      },
    )
    const lowerCased = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)])
    const content = { url: new URL(endpoint), headers: Object.fromEntries(lowerCased), body: body ?? '' }
    const holder = await this.#options.control.tokens.get(channel.tokenId ?? '')
    const outcome = await sendContent(content, { ...means, guard: this.#guardOf(holder?.role ?? null) })
    // Some push services return 404 instead of 410 for an unknown subscription.
    const isUnknown = outcome.kind === 'refused' && outcome.error.startsWith('The receiver returned 404')
    return isUnknown ? { kind: 'gone', error: outcome.error } : outcome
  }

  #guardOf(role: Role | null): AddressGuard {
    return role === 'admin' ? this.#options.guard : this.#options.publicGuard
  }

  async #keys(): Promise<z.output<typeof keysSchema>> {
    const { settings } = this.#options.store
    const text = await settings.secret('web-push', () => JSON.stringify(webPush.generateVAPIDKeys()))
    return keysSchema.parse(JSON.parse(text))
  }
}

/** For a browser that is off, a push service keeps only the last message about a group. */
function topicOf({ message: { groups } }: Sent) {
  const [group, ...others] = groups
  return group && others.length === 0 ? { topic: group.id.replaceAll('-', '').slice(0, 32) } : {}
}

/** What the service worker shows. It contains nothing of any payload. */
function contentOf({ message, environment }: Sent) {
  const { type, summary, path, alerts, groups } = message
  return {
    type,
    title: MESSAGE_TITLES[type] + (environment === null ? '' : ` · ${environment}`),
    body: shorten(summary, MAX_BODY),
    path,
    // A later message about the same group replaces this one.
    tag: groups[0]?.id ?? 'test',
    alertIds: alerts.slice(0, MAX_ALERTS).map(({ id }) => id),
  }
}
