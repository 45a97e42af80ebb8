import { LIMITS, newJobId, OncueError } from '@oncue/core'
import type { Channel } from '@oncue/core/wire'
import { z } from 'zod'
import { isUuid } from '../uuid.ts'
import { parseInput } from './reads/filter.ts'
import { q, type Sql } from './sql.ts'
import { usableAt } from './tokens.ts'

/** `address` is whole here: a URL, or the push token of a device. */
export type ChannelRow = Omit<Channel, 'deviceId'> & {
  /** Signs what is sent; null: nothing is signed. */
  readonly secret: string | null
  /** The device that a push channel belongs to. */
  readonly tokenId: string | null
}

export interface ChannelStore {
  /**
   * Sets the push token of a device, as one transaction: one push channel for each device, and one device for each
   * push token. Null removes it.
   */
  setPush(tokenId: string, pushToken: string | null): Promise<void>
}

const pushSchema = z.strictObject({ pushToken: z.string().min(1).max(LIMITS.keyLength) })

/** Portable SQL: two writes that are one transaction, and depend on whether the device can be used. */
export function createChannels(sql: Sql): ChannelStore {
  return {
    async setPush(tokenId, pushToken) {
      if (pushToken === null) {
        if (isUuid(tokenId)) await sql.run(q`delete from {channels} where token_id = ${tokenId}`)
        return
      }
      parseInput(pushSchema, { pushToken }, 'push')
      const now = await sql.now()
      const written = isUuid(tokenId)
        ? await sql.run(
            // Also what devices left behind that were revoked.
            q`delete from {channels} where kind = 'push' and ((address = ${pushToken} and token_id <> ${tokenId})
              or token_id in (select id from {tokens} where revoked_at is not null))`,
            // An app says at every start what it is reached by. As long as that is the same, so is how it went.
            q`insert into {channels} as c (id, kind, name, address, token_id, enabled, created)
              select ${newJobId(now.getTime())}, 'push', t.name, ${pushToken}, t.id, ${true}, ${now} from {tokens} t
              where t.id = ${tokenId} and t.kind = 'device' and ${usableAt(now)}
              on conflict (token_id) do update set address = excluded.address,
                last_error = case when c.address = excluded.address then c.last_error end,
                failing_since = case when c.address = excluded.address then c.failing_since end`,
          )
        : 0
      if (written === 0)
        throw new OncueError('TOKEN_NOT_FOUND', `There is no device ${JSON.stringify(tokenId)}`)
    },
  }
}
