import type { Channel } from '@oncue/core/wire'

export type NewChannel = {
  readonly kind: 'webhook' | 'slack'
  readonly name: string
  /** A URL. */
  readonly address: string
  /** Signs what is sent; null: nothing is signed. */
  readonly secret?: string | null | undefined
  readonly createdBy?: string | null | undefined
}

export type ChannelRow = {
  readonly id: string
  readonly kind: Channel['kind']
  readonly name: string
  /** A URL, or the push token of a device. */
  readonly address: string
  readonly secret: string | null
  /** The device that a push channel belongs to. */
  readonly tokenId: string | null
  readonly enabled: boolean
  readonly created: Date
  readonly createdBy: string | null
  readonly lastAttempt: Date | null
  readonly lastDelivered: Date | null
  readonly lastError: string | null
  readonly failingSince: Date | null
}

export type ChannelChange = {
  readonly name?: string | undefined
  readonly enabled?: boolean | undefined
}

/** How an attempt to deliver went: null, or what was wrong. */
export type Attempt = {
  readonly error: string | null
  /** Nobody is there any more: nothing is sent until somebody enables it again. */
  readonly disable?: boolean | undefined
}

/**
 * Where alerts are sent. A push channel is there as long as its device is: one that was revoked, or has expired,
 * has none.
 */
export interface ChannelStore {
  create(channel: NewChannel): Promise<ChannelRow>
  /** Null: nobody has this id. */
  get(id: string): Promise<ChannelRow | null>
  /** Oldest first, up to 1 000. */
  list(): Promise<ChannelRow[]>
  /** CHANNEL_NOT_FOUND for an id that nobody has. */
  update(id: string, change: ChannelChange): Promise<ChannelRow>
  /** CHANNEL_NOT_FOUND for an id that nobody has. */
  remove(id: string): Promise<void>
  /** Of a channel that is gone meanwhile nothing is recorded. */
  record(id: string, attempt: Attempt): Promise<void>
  /**
   * What a device is reached by from now on: one push channel for each device, and one device for each push token.
   * Null takes it away.
   */
  setPush(tokenId: string, pushToken: string | null): Promise<void>
  /** Takes a push token away that leads nowhere; a device that has a new one meanwhile keeps it. */
  dropPush(pushToken: string): Promise<void>
}
