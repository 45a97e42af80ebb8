import {
  ACCESS_CLASSES,
  allows,
  createdTokenSchema,
  createTokenRequestSchema,
  listTokensRequestSchema,
  meSchema,
  OncueError,
  tokenIdSchema,
  tokenSchema,
} from '@oncue/core'
import { z } from 'zod'
import { hashSecret, newSecret } from '../auth/secret.ts'
import { changing, reading } from '../operation.ts'
import { actorOf } from './actor.ts'

export const list = reading({
  name: 'tokens.list',
  access: 'admin',
  input: listTokensRequestSchema.default({ ended: false }),
  output: z.array(tokenSchema),
  async run({ store }, options) {
    const tokens = await store.tokens.list(options)
    return tokens.map(({ allowedTopics, ...token }) => ({ ...token, allowedTopics: copy(allowedTopics) }))
  },
})

export const create = changing({
  name: 'tokens.create',
  access: 'admin',
  input: createTokenRequestSchema,
  output: createdTokenSchema,
  async run(ctx, { name, role, allowedTopics, expiresAt }) {
    const { store } = ctx
    if (expiresAt && expiresAt <= (await store.now()))
      throw new OncueError(
        'INVALID_INPUT',
        `input.expiresAt: lies in the past, got ${expiresAt.toISOString()}`,
      )
    const secret = newSecret()
    const hash = hashSecret(secret)
    const createdBy = actorOf(ctx)
    const token = await store.tokens.create({
      ...{ kind: 'token', name, role, hash, allowedTopics, createdBy, expiresAt },
    })
    return { ...token, allowedTopics: copy(token.allowedTopics), secret }
  },
  note: ({ name, role, allowedTopics }, { id }) => ({ target: { id, name, role, allowedTopics }, count: 1 }),
})

export const revoke = changing({
  name: 'tokens.revoke',
  access: 'admin',
  input: tokenIdSchema,
  output: z.null(),
  async run({ store, auth }, { id }) {
    await store.tokens.revoke(id)
    await auth.changed()
    return null
  },
  note: (target) => ({ target, count: 1 }),
})

export const me = reading({
  name: 'tokens.me',
  access: 'anyone',
  input: z.undefined(),
  output: meSchema,
  async run({ principal, settings }) {
    const { allowedTopics, role, kind } = principal
    const now = await settings.get()
    const isOpen = now.httpEnabled || role === 'admin'
    const caller = { signedIn: kind !== 'anonymous', role }
    const may = ACCESS_CLASSES.filter((access) => isOpen && allows(now, caller, access))
    return { ...principal, allowedTopics: copy(allowedTopics), may }
  },
})

const copy = (topics: readonly string[] | null) => topics && [...topics]
