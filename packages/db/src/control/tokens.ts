import { LIMITS, newJobId } from '@oncue/core'
import { assertText, toInputError } from '@oncue/core/internal'
import { allowedQueuesSchema, allowedTopicsSchema, roleSchema } from '@oncue/core/wire'
import { z } from 'zod'
import { parseInput } from '../portable/reads/filter.ts'
import {
  type TokenKind,
  type TokenRow,
  type TokenStore,
  tokenHashSchema,
  tokenNameSchema,
  unknownToken,
} from '../portable/tokens.ts'
import { isUuid, readByIds } from '../uuid.ts'
import { type Context, given, jsonOrNothing } from './client.ts'

export type NewToken = Pick<TokenRow, 'kind' | 'name' | 'role'> & {
  /** SHA-256 of the secret, in hex. The secret itself never comes here. */
  readonly hash: string
} & {
  readonly [Field in 'allowedTopics' | 'allowedQueues' | 'parentId' | 'createdBy' | 'expiresAt']?:
    | TokenRow[Field]
    | undefined
}

const newTokenSchema = z.strictObject({
  kind: z.enum(['token', 'session', 'device']),
  name: tokenNameSchema,
  role: roleSchema,
  hash: tokenHashSchema,
  allowedTopics: allowedTopicsSchema.optional(),
  allowedQueues: allowedQueuesSchema.optional(),
  parentId: z.uuid().nullish(),
  createdBy: z.string().max(LIMITS.keyLength).nullish(),
  expiresAt: z.date().nullish(),
})

/** Sessions that ended are kept this long, to show who was signed in. */
const KEPT_MS = 30 * 86_400_000
const LIST_LIMIT = 1_000
const omit = { hash: true } as const

/** The tokens that people manage: theirs, their sessions and their devices. */
export type TokenControl = ReturnType<typeof createTokens>

export function createTokens({ client, now }: Context, usable: TokenStore['usable']) {
  return {
    async create(token: NewToken): Promise<TokenRow> {
      const parsed = parseInput(newTokenSchema, token, 'token')
      const { kind, name, role, hash, allowedTopics, allowedQueues, ...optional } = parsed
      const created = await now()
      if (kind === 'session') {
        const before = new Date(created.getTime() - KEPT_MS)
        const ended = await client.token.findMany({
          where: { kind, expiresAt: { lt: before } },
          select: { id: true },
          take: LIST_LIMIT,
        })
        const ids = ended.map(({ id }) => id)
        // Where a browser was notified, and then the session itself: if this ends in between, the next one does the rest.
        await client.channel.deleteMany({ where: { tokenId: { in: ids } } })
        await client.token.deleteMany({ where: { id: { in: ids } } })
      }
      const data = {
        id: newJobId(created.getTime()),
        kind,
        name,
        role,
        hash,
        allowedTopics: jsonOrNothing(allowedTopics),
        allowedQueues: jsonOrNothing(allowedQueues),
        created,
        ...given(optional),
      }
      return (await client.token.create({ data, omit })) as TokenRow
    },

    /** Including one that has ended; null: no token has this id. */
    async get(id: string): Promise<TokenRow | null> {
      if (!isUuid(id)) return null
      return (await client.token.findFirst({ where: { id }, omit })) as TokenRow | null
    },

    /** Those of these ids that exist, including ones that have ended. */
    async getMany(ids: readonly string[]): Promise<TokenRow[]> {
      const read = (batch: string[]) => client.token.findMany({ where: { id: { in: batch } }, omit })
      return (await readByIds(ids, read)) as TokenRow[]
    },

    /** Newest first, up to 1,000; without those that have ended, unless asked for. */
    async list(
      options: { readonly kind?: TokenKind | undefined; readonly ended?: boolean | undefined } = {},
    ): Promise<TokenRow[]> {
      const { kind, ended = false } = options
      const notEnded = { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: await now() } }] }
      const listed: TokenRow[] = []
      for (let skip = 0; ; skip += LIST_LIMIT) {
        const page = (await client.token.findMany({
          where: { ...given({ kind }), ...(!ended && notEnded) },
          orderBy: [{ created: 'desc' }, { id: 'desc' }],
          skip,
          take: LIST_LIMIT,
          omit,
        })) as TokenRow[]
        // A token also ends with its maker, however many steps away: a recursive query of the Store.
        const left = ended ? null : await usable(page.map(({ id }) => id))
        listed.push(...page.filter(({ id }) => left === null || left.has(id)))
        if (page.length < LIST_LIMIT || listed.length >= LIST_LIMIT) return listed.slice(0, LIST_LIMIT)
      }
    },

    /** TOKEN_NOT_FOUND for an id that does not exist. */
    async rename(id: string, name: string): Promise<void> {
      const parsed = tokenNameSchema.safeParse(name)
      if (!parsed.success) throw toInputError(parsed.error, 'name', name)
      assertText(name, 'name')
      const renamed = isUuid(id) ? await client.token.updateMany({ where: { id }, data: { name } }) : null
      if (!renamed?.count) throw unknownToken(id)
    },
  }
}
