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
