import type { Channel, CreateChannelRequest, UpdateChannelRequest } from '@oncue/core/wire'

/** `address` is whole here: a URL, or the push token of a device. */
export type ChannelRow = Omit<Channel, 'deviceId'> & {
  /** Signs what is sent; null: nothing is signed. */
  readonly secret: string | null
  /** The device that a push channel belongs to. */
  readonly tokenId: string | null
}

export type NewChannel = Omit<CreateChannelRequest, 'url'> & {
  /** A URL. */
  readonly address: string
  readonly secret?: ChannelRow['secret'] | undefined
  readonly createdBy?: ChannelRow['createdBy'] | undefined
}

export type ChannelChange = Omit<UpdateChannelRequest, 'id'>

/** How an attempt to deliver went: null, or what was wrong. */
export type Attempt = {
  readonly error: string | null
  /** Nobody is there any more: nothing is sent until somebody enables it again. */
  readonly disable?: boolean | undefined
}

/** Where alerts are sent. A push channel exists as long as its device: a revoked or expired device has none. */
export interface ChannelControl {
  create(channel: NewChannel): Promise<ChannelRow>
  /** Null: there is none. */
  get(id: string): Promise<ChannelRow | null>
  /** Oldest first, up to 1,000. */
  list(): Promise<ChannelRow[]>
  /** CHANNEL_NOT_FOUND for an id that does not exist. */
  update(id: string, change: ChannelChange): Promise<ChannelRow>
  /** CHANNEL_NOT_FOUND for an id that does not exist. */
  remove(id: string): Promise<void>
  /** Does nothing for a channel that was removed meanwhile. */
  record(id: string, attempt: Attempt): Promise<void>
  /** Removes a push token that leads nowhere; a device that has a new one meanwhile keeps it. */
  dropPush(pushToken: string): Promise<void>
}

export interface ChannelStore {
  /**
   * Sets the push token of a device, as one transaction: one push channel for each device, and one device for each
   * push token. Null removes it.
   */
  setPush(tokenId: string, pushToken: string | null): Promise<void>
}
