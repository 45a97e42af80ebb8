import { OncueError } from '@oncue/core'
import {
  ACCESS_CLASSES,
  allows,
  createdTokenSchema,
  createTokenRequestSchema,
  idRequestSchema,
  listTokensRequestSchema,
  meSchema,
  revokedTokenSchema,
  tokenSchema,
} from '@oncue/core/wire'
import { z } from 'zod'
import { hashSecret, newSecret } from '../auth/secret.ts'
import { actorOf } from './actor.ts'
import { mutation, query } from './procedure.ts'

export const tokens = {
  list: query({
    access: 'admin',
    input: listTokensRequestSchema.default({ ended: false }),
    output: z.array(tokenSchema),
    run: ({ control }, options) => control.tokens.list(options),
  }),

  create: mutation({
    access: 'admin',
    input: createTokenRequestSchema,
    output: createdTokenSchema,
    async run(ctx, { name, role, allowedTopics, allowedQueues, expiresAt }) {
      const { store, control } = ctx
      if (expiresAt && expiresAt <= (await store.now()))
        throw new OncueError(
          'INVALID_INPUT',
          `input.expiresAt: must be in the future, got ${expiresAt.toISOString()}`,
        )
      const secret = newSecret()
      const hash = hashSecret(secret)
      const createdBy = actorOf(ctx)
      const token = await control.tokens.create({
        ...{ kind: 'token', name, role, hash, allowedTopics, allowedQueues, createdBy, expiresAt },
      })
      return { ...token, secret }
    },
    audit: ({ name, role, allowedTopics, allowedQueues }, { id }) => ({
      target: { id, name, role, allowedTopics, allowedQueues },
      count: 1,
    }),
  }),

  /** With its sessions, the devices that it paired, and what was made by those. */
  revoke: mutation({
    access: 'admin',
    input: idRequestSchema,
    output: revokedTokenSchema,
    async run({ store, control, auth }, { id }) {
      const { devices } = await store.tokens.revoke(id)
      await auth.changed()
      const token = await control.tokens.get(id)
      return { devices, name: token?.name }
    },
    audit: ({ id }, { devices }, _, { name }) => ({ target: { id, name, devices }, count: 1 }),
  }),

  me: query({
    access: 'anyone',
    input: z.undefined(),
    output: meSchema,
    async run({ principal, settings }) {
      const { role, kind } = principal
      const now = await settings.get()
      const isOpen = now.httpEnabled || role === 'admin'
      const caller = { signedIn: kind !== 'anonymous', role }
      const may = ACCESS_CLASSES.filter((access) => isOpen && allows(now, caller, access))
      return { ...principal, may }
    },
  }),
}
