import { LIMITS, newJobId, OncueError } from '@oncue/core'
import { cleanText } from '@oncue/core/internal'
import { CHANNEL_KINDS, type UpdateChannelRequest } from '@oncue/core/wire'
import { z } from 'zod'
import type { Prisma } from '../generated/sqlite/client.ts'
import type { ChannelRow } from '../portable/channels.ts'
import { parseInput } from '../portable/reads/filter.ts'
import type { TokenStore } from '../portable/tokens.ts'
import { isUuid } from '../uuid.ts'
import { type Context, given, jsonOrNothing } from './client.ts'

export type NewChannel = Pick<ChannelRow, 'name'> & {
  readonly kind: Exclude<ChannelRow['kind'], 'push' | 'web_push'>
  /** A URL or an e-mail address; the name of a service whose address is known. */
  readonly address: string
  readonly secret?: ChannelRow['secret'] | undefined
  readonly options?: ChannelRow['options'] | undefined
  readonly createdBy?: ChannelRow['createdBy'] | undefined
}

export type ChannelChange = Omit<UpdateChannelRequest, 'id'>

/** The outcome of a delivery: null, or what was wrong. */
export type Attempt = {
  readonly error: string | null
  /** The receiver is gone: nothing is sent until a person enables the channel again. */
  readonly disable?: boolean | undefined
}

const LIST_LIMIT = 1_000
const ERROR_LENGTH = 500

const text = (maxLength: number) => z.string().min(1).max(maxLength)
const nameSchema = text(LIMITS.keyLength)

const newChannelSchema = z.strictObject({
  kind: z.enum(CHANNEL_KINDS).exclude(['push', 'web_push']),
  name: nameSchema,
  address: text(2_000),
  secret: text(LIMITS.keyLength).nullish(),
  options: z.strictObject({ priority: z.int().min(1).max(5).optional() }).nullish(),
  createdBy: z.string().max(LIMITS.keyLength).nullish(),
})

const changeSchema = z.strictObject({ name: nameSchema.optional(), enabled: z.boolean().optional() })

/** Where alerts are sent. A push channel exists as long as its device: a revoked or expired device has none. */
export function createChannels({ client, now }: Context, usableTokens: TokenStore['usable']) {
  /** A push channel has the name of its device, and is left out when the device cannot be used. */
  async function find(where: Prisma.ChannelWhereInput): Promise<ChannelRow[]> {
    const rows = await client.channel.findMany({
      where,
      // Channels of admins first: however many browsers register themselves, these stay within the limit.
      orderBy: [{ tokenId: { sort: 'asc', nulls: 'first' } }, { created: 'asc' }, { id: 'asc' }],
    })
    const tokenIds = rows.flatMap(({ tokenId }) => tokenId ?? [])
    const usable = tokenIds.length > 0 ? [...(await usableTokens(tokenIds))] : []
    const devices = await client.token.findMany({
      where: { id: { in: usable } },
      select: { id: true, name: true },
    })
    const names = new Map(devices.map(({ id, name }) => [id, name]))
    return rows
      .filter(({ tokenId }) => tokenId === null || names.has(tokenId))
      .slice(0, LIST_LIMIT)
      .map((row) => ({ ...row, name: names.get(row.tokenId ?? '') ?? row.name }) as ChannelRow)
  }

  /** Null: there is none. */
  async function get(id: string): Promise<ChannelRow | null> {
    const [channel] = isUuid(id) ? await find({ id }) : []
    return channel ?? null
  }

  async function existing(id: string): Promise<ChannelRow> {
    const channel = await get(id)
    if (channel) return channel
    throw new OncueError('CHANNEL_NOT_FOUND', `There is no channel ${JSON.stringify(id)}`)
  }

  return {
    get,
    /** Those that admins made, then those of devices and sessions; each oldest first, together up to 1,000. */
    list: () => find({}),

    async create(channel: NewChannel): Promise<ChannelRow> {
      const parsed = parseInput(newChannelSchema, channel, 'channel')
      const { secret = null, options, createdBy = null, ...rest } = parsed
      const created = await now()
      const made = { ...rest, secret, options: jsonOrNothing(options && given(options)), createdBy }
      const data = { ...made, id: newJobId(created.getTime()), enabled: true, created }
      return (await client.channel.create({ data })) as ChannelRow
    },

    /** CHANNEL_NOT_FOUND for an id that does not exist, as `remove`. */
    async update(id: string, change: ChannelChange): Promise<ChannelRow> {
      const data = given(parseInput(changeSchema, change, 'change'))
      await existing(id)
      await client.channel.updateMany({ where: { id }, data })
      return existing(id)
    },

    async remove(id: string): Promise<void> {
      await existing(id)
      await client.channel.deleteMany({ where: { id } })
    },

    /** Does nothing for a channel that was removed meanwhile. */
    async record(id: string, { error, disable = false }: Attempt): Promise<void> {
      if (!isUuid(id)) return
      const lastAttempt = await now()
      if (error === null) {
        const data = { lastAttempt, lastDelivered: lastAttempt, lastError: null, failingSince: null }
        await client.channel.updateMany({ where: { id }, data })
        return
      }
      const lastError = cleanText(error.slice(0, ERROR_LENGTH))
      const data = { lastAttempt, lastError, ...(disable && { enabled: false }) }
      // The first failure sets the time, later ones keep it. At most one of the two matches.
      const { count } = await client.channel.updateMany({
        where: { id, failingSince: null },
        data: { ...data, failingSince: lastAttempt },
      })
      if (count === 0) await client.channel.updateMany({ where: { id, failingSince: { not: null } }, data })
    },

    /** Removes a dead push token or subscription; a device that has a new one meanwhile keeps it. */
    async dropPush(address: string): Promise<void> {
      await client.channel.deleteMany({ where: { kind: { in: ['push', 'web_push'] }, address } })
    },
  }
}
