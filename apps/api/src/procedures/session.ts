import { OncueError } from '@oncue/core'
import { z } from 'zod'
import { hashSecret, newSecret } from '../auth/secret.ts'
import { shownName } from './actor.ts'
import { mutation } from './procedure.ts'

/** Long, so that a person on call need not look for a token at night; revoking the token ends it at once. */
const SESSION_MS = 30 * 86_400_000

export const session = {
  /** A session for the caller, who has shown a token. */
  create: mutation({
    access: 'anyone',
    input: z.undefined(),
    output: z.object({ id: z.string(), secret: z.string(), expiresAt: z.date() }),
    async run({ store, control, principal }) {
      const { kind, tokenId, role, allowedTopics, allowedQueues } = principal
      if ((kind !== 'token' && kind !== 'device') || tokenId === null || role === null)
        throw new OncueError('UNAUTHORIZED', 'Sign in with an Oncue token; a JWT is not accepted here')
      const end = new Date((await store.now()).getTime() + SESSION_MS)
      const expiresAt = principal.expiresAt && principal.expiresAt < end ? principal.expiresAt : end
      const secret = newSecret()
      const hash = hashSecret(secret)
      const { id } = await control.tokens.create({
        ...{ kind: 'session', parentId: tokenId, name: shownName(principal), role },
        ...{ allowedTopics, allowedQueues, hash, expiresAt },
      })
      return { id, secret, expiresAt }
    },
    audit: (_, { id }) => ({ target: { id }, count: 1 }),
  }),

  end: mutation({
    access: 'anyone',
    input: z.undefined(),
    output: z.null(),
    async run({ store, auth, principal }) {
      if (principal.kind !== 'session' || principal.tokenId === null)
        throw new OncueError('UNAUTHORIZED', 'Not signed in')
      await store.tokens.revoke(principal.tokenId)
      await auth.changed()
      return null
    },
    audit: (_, __, { principal }) => ({ target: { id: principal.tokenId }, count: 1 }),
  }),
}
