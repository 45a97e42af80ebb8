import { LIMITS, newJobId, OncueError } from '@oncue/core'
import type { Channel, WebPushSubscription } from '@oncue/core/wire'
import { z } from 'zod'
import { isUuid } from '../uuid.ts'
import { parseInput } from './reads/filter.ts'
import { list, q, type Sql } from './sql.ts'
import { usableAt } from './tokens.ts'

/** `address` is whole here: a URL, an e-mail address, or the push token of a device. */
export type ChannelRow = Omit<Channel, 'deviceId'> & {
  /** Signs or encrypts what is sent, or is the key of a service. */
  readonly secret: string | null
  readonly options: { readonly priority?: number | undefined } | null
  /** The device that a push channel belongs to. */
  readonly tokenId: string | null
}

export interface ChannelStore {
  /**
   * Sets the push token of a device, as one transaction: one push channel for each device, and one device for each
   * push token. Null removes it.
   */
  setPush(tokenId: string, pushToken: string | null): Promise<void>
  /** The same for a browser, which may also be a session: its subscription. */
  setWebPush(tokenId: string, subscription: WebPushSubscription | null): Promise<void>
}

const pushSchema = z.strictObject({ pushToken: z.string().min(1).max(LIMITS.keyLength) })

type Target = Pick<ChannelRow, 'kind' | 'address' | 'secret'>

/** Portable SQL: two writes that are one transaction, and depend on whether the device can be used. */
export function createChannels(sql: Sql): ChannelStore {
  async function remove(tokenId: string): Promise<void> {
    if (isUuid(tokenId)) await sql.run(q`delete from {channels} where token_id = ${tokenId}`)
  }

  async function set(
    tokenId: string,
    { kind, address, secret }: Target,
    makers: readonly ('device' | 'session')[],
  ): Promise<void> {
    const now = await sql.now()
    const written = isUuid(tokenId)
      ? await sql.run(
          // Also what devices and sessions left behind that were revoked or have expired.
          q`delete from {channels} where kind in ('push', 'web_push') and ((address = ${address} and token_id <> ${tokenId})
            or token_id in (select id from {tokens} where revoked_at is not null or expires_at <= ${now}))`,
          // An app says at every start what it is reached by. As long as that is the same, so is how it went.
          q`insert into {channels} as c (id, kind, name, address, secret, token_id, enabled, created)
            select ${newJobId(now.getTime())}, ${kind}, t.name, ${address}, ${secret}, t.id, ${true}, ${now}
            from {tokens} t where t.id = ${tokenId} and t.kind in (${list(makers)}) and ${usableAt(now)}
            on conflict (token_id) do update set
              kind = excluded.kind, address = excluded.address, secret = excluded.secret,
              last_error = case when c.address = excluded.address then c.last_error end,
              failing_since = case when c.address = excluded.address then c.failing_since end`,
        )
      : 0
    if (written === 0)
      throw new OncueError('TOKEN_NOT_FOUND', `There is no device ${JSON.stringify(tokenId)}`)
  }

  return {
    async setPush(tokenId, pushToken) {
      if (pushToken === null) return remove(tokenId)
      parseInput(pushSchema, { pushToken }, 'push')
      await set(tokenId, { kind: 'push', address: pushToken, secret: null }, ['device'])
    },

    async setWebPush(tokenId, subscription) {
      if (subscription === null) return remove(tokenId)
      const { endpoint, keys } = subscription
      const target = { kind: 'web_push', address: endpoint, secret: JSON.stringify(keys) } as const
      await set(tokenId, target, ['device', 'session'])
    },
  }
}
