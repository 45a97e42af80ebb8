import { LIMITS, newJobId, OncueError } from '@oncue/core'
import { assertText, cleanText, toInputError } from '@oncue/core/internal'
import { z } from 'zod'
import { USABLE } from '../access/tokens.ts'
import type { ChannelRow, ChannelStore } from '../channels.ts'
import type { PortableStatement, Sql, Value } from '../sql.ts'
import { isUuid } from '../uuid.ts'

const LIST_LIMIT = 1_000
const ERROR_LENGTH = 500

type StoredChannel = {
  readonly id: string
  readonly kind: ChannelRow['kind']
  readonly name: string
  readonly device_name: string | null
  readonly address: string
  readonly secret: string | null
  readonly token_id: string | null
  readonly enabled: unknown
  readonly created: unknown
  readonly created_by: string | null
  readonly last_attempt: unknown
  readonly last_delivered: unknown
  readonly last_error: string | null
  readonly failing_since: unknown
}

const text = (maxLength: number) => z.string().min(1).max(maxLength)
const nameSchema = text(LIMITS.keyLength)

const newChannelSchema = z.strictObject({
  kind: z.enum(['webhook', 'slack']),
  name: nameSchema,
  address: text(2_000),
  secret: text(LIMITS.keyLength).nullish(),
  createdBy: z.string().max(LIMITS.keyLength).nullish(),
})

const changeSchema = z.strictObject({ name: nameSchema.optional(), enabled: z.boolean().optional() })
const pushSchema = z.strictObject({ pushToken: text(LIMITS.keyLength) })

/** Written once for both databases. */
export function createChannels(sql: Sql): ChannelStore {
  const read = (row: StoredChannel): ChannelRow => ({
    id: row.id,
    kind: row.kind,
    name: row.device_name ?? row.name,
    address: row.address,
    secret: row.secret,
    tokenId: row.token_id,
    enabled: Boolean(row.enabled),
    created: sql.time(row.created) as Date,
    createdBy: row.created_by,
    lastAttempt: sql.time(row.last_attempt),
    lastDelivered: sql.time(row.last_delivered),
    lastError: row.last_error,
    failingSince: sql.time(row.failing_since),
  })

  async function find(condition: string, values: readonly Value[]): Promise<ChannelRow[]> {
    const now = await sql.now()
    const rows = await sql.all<StoredChannel>({
      text: `select c.*, t.name as device_name from {channels} c left join {tokens} t on t.id = c.token_id
        where (c.token_id is null or (t.id is not null and ${USABLE})) and ${condition}
        order by c.created, c.id limit ${LIST_LIMIT}`,
      values: [now, now, ...values],
    })
    return rows.map(read)
  }

  async function get(id: string): Promise<ChannelRow | null> {
    const [channel] = isUuid(id) ? await find('c.id = ?', [id]) : []
    return channel ?? null
  }

  async function existing(id: string): Promise<ChannelRow> {
    const channel = await get(id)
    if (channel) return channel
    throw new OncueError('CHANNEL_NOT_FOUND', `There is no channel ${JSON.stringify(id)}`)
  }

  const set = (id: string, columns: Readonly<Record<string, Value>>): PortableStatement => ({
    text: `update {channels} set ${Object.keys(columns).map((column) => `${column} = ?`)} where id = ?`,
    values: [...Object.values(columns), id],
  })

  return {
    get,
    list: () => find('1 = 1', []),

    async create(channel) {
      const { kind, name, address, secret, createdBy } = parse(newChannelSchema, channel, 'channel')
      const now = await sql.now()
      const id = newJobId(now.getTime())
      await sql.run({
        text: `insert into {channels} (id, kind, name, address, secret, enabled, created, created_by)
          values (?, ?, ?, ?, ?, ?, ?, ?)`,
        values: [id, kind, name, address, secret ?? null, true, now, createdBy ?? null],
      })
      return existing(id)
    },

    async update(id, change) {
      const { name, enabled } = parse(changeSchema, change, 'change')
      await existing(id)
      const columns = { ...(name !== undefined && { name }), ...(enabled !== undefined && { enabled }) }
      if (Object.keys(columns).length > 0) await sql.run(set(id, columns))
      return existing(id)
    },

    async remove(id) {
      await existing(id)
      await sql.run({ text: 'delete from {channels} where id = ?', values: [id] })
    },

    async record(id, { error, disable = false }) {
      if (!isUuid(id)) return
      const now = await sql.now()
      if (error === null) {
        const delivered = { last_attempt: now, last_delivered: now, last_error: null, failing_since: null }
        await sql.run(set(id, delivered))
        return
      }
      const told = cleanText(error.slice(0, ERROR_LENGTH))
      const failed = { last_attempt: now, last_error: told, ...(disable && { enabled: false }) }
      await sql.run(
        {
          text: 'update {channels} set failing_since = coalesce(failing_since, ?) where id = ?',
          values: [now, id],
        },
        set(id, failed),
      )
    },

    async setPush(tokenId, pushToken) {
      if (pushToken === null) {
        if (isUuid(tokenId))
          await sql.run({ text: 'delete from {channels} where token_id = ?', values: [tokenId] })
        return
      }
      parse(pushSchema, { pushToken }, 'push')
      const now = await sql.now()
      const written = isUuid(tokenId)
        ? await sql.run(
            {
              // Also what devices left behind that were revoked.
              text: `delete from {channels} where kind = 'push' and ((address = ? and token_id <> ?)
                or token_id in (select id from {tokens} where revoked_at is not null))`,
              values: [pushToken, tokenId],
            },
            {
              // An app says at every start what it is reached by. As long as that is the same, so is how it went.
              text: `insert into {channels} as c (id, kind, name, address, token_id, enabled, created)
                select ?, 'push', t.name, ?, t.id, ?, ? from {tokens} t
                where t.id = ? and t.kind = 'device' and ${USABLE}
                on conflict (token_id) do update set address = excluded.address,
                  last_error = case when c.address = excluded.address then c.last_error end,
                  failing_since = case when c.address = excluded.address then c.failing_since end`,
              values: [newJobId(now.getTime()), pushToken, true, now, tokenId, now, now],
            },
          )
        : 0
      if (written === 0)
        throw new OncueError('TOKEN_NOT_FOUND', `There is no device ${JSON.stringify(tokenId)}`)
    },

    async dropPush(pushToken) {
      await sql.run({
        text: `delete from {channels} where kind = 'push' and address = ?`,
        values: [pushToken],
      })
    },
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, given: object, what: string): z.output<Schema> {
  const parsed = schema.safeParse(given)
  if (!parsed.success) throw toInputError(parsed.error, what, given)
  for (const [field, value] of Object.entries(given))
    if (typeof value === 'string') assertText(value, `${what}.${field}`)
  return parsed.data
}
