import { OncueError } from '@oncue/core'
import {
  createPairingRequestSchema,
  deviceRoleSchema,
  exchangePairingRequestSchema,
  isAtMost,
  pairedSchema,
  pairingSchema,
} from '@oncue/core/wire'
import { DAY_MS } from '../auth/auth.ts'
import { hashSecret, newSecret } from '../auth/secret.ts'
import { actorOf } from './actor.ts'
import { toDevices } from './devices.ts'
import { mutation } from './procedure.ts'

export const pairings = {
  create: mutation({
    access: 'act',
    input: createPairingRequestSchema.default({ validSeconds: 300 }),
    output: pairingSchema,
    async run(ctx, { role: asked, validSeconds }) {
      const { store, principal, publicUrl, request } = ctx
      if (principal.kind === 'host')
        throw new OncueError(
          'FORBIDDEN',
          'A device cannot be paired where Oncue is mounted in another application',
          {
            hint: 'Its token would not be accepted here. Pair it at a server of `oncue api`.',
          },
        )
      // A rule may let everyone act, but the rule can be changed back, and the device would stay.
      if (principal.role === null)
        throw new OncueError('FORBIDDEN', 'Only callers with a role can create a device')
      const most = deviceRoleSchema.parse(principal.role)
      const role = asked ?? most
      if (!isAtMost(role, most))
        throw new OncueError('FORBIDDEN', `Your devices can have at most the role ${most}, not ${role}`)
      const { id, code, expiresAt } = await store.pairings.create({
        ...{ role, allowedTopics: principal.allowedTopics, allowedQueues: principal.allowedQueues },
        createdBy: actorOf(ctx),
        // What a session makes is made by the token behind it, and ends with that; what a JWT makes ends as it does.
        ...(principal.tokenId === null ? { deviceUntil: principal.expiresAt } : { makerId: principal.id }),
        validMs: validSeconds * 1_000,
      })
      const url = `${publicUrl ?? request.origin}/pair?code=${code}`
      return { id, code, url, role, expiresAt }
    },
    audit: (_, { id, role }) => ({ target: { id, role }, count: 1 }),
  }),

  /** A new device has no token yet, only the code. */
  exchange: mutation({
    access: 'anyone',
    input: exchangePairingRequestSchema,
    output: pairedSchema,
    async run(ctx, { code, name }) {
      const { store, settings } = ctx
      const secret = newSecret()
      const { deviceIdleDays } = await settings.get()
      const device = await store.pairings
        .exchange({ code, name, hash: hashSecret(secret), idleMs: deviceIdleDays * DAY_MS })
        .catch(async (error: unknown) => {
          await ctx.failedAttempts.record(ctx, 'pairings.refused', error)
          throw error
        })
      const [shown] = await toDevices(ctx, [device])
      if (!shown) throw new OncueError('INTERNAL', 'The device was paired, but cannot be read')
      return { device: shown, secret }
    },
    audit: (_, { device: { id, name, role, createdBy } }) => ({
      target: { id, name, role, createdBy },
      count: 1,
    }),
  }),
}
