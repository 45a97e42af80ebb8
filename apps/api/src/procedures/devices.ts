import { OncueError } from '@oncue/core'
import {
  type Device,
  deviceSchema,
  idRequestSchema,
  isAtMost,
  renameDeviceRequestSchema,
} from '@oncue/core/wire'
import type { TokenRow } from '@oncue/db'
import { z } from 'zod'
import type { ApiContext } from '../context.ts'
import { authorize, changing, reading } from './procedure.ts'

export const list = reading({
  name: 'devices.list',
  access: 'act',
  input: z.undefined(),
  output: z.array(deviceSchema),
  run: async (ctx) => toDevices(ctx, await ctx.control.tokens.list({ kind: 'device' })),
})

export const rename = changing({
  name: 'devices.rename',
  access: 'act',
  input: renameDeviceRequestSchema,
  output: z.null(),
  async run(ctx, { id, name }) {
    await assertMayChange(ctx, id)
    await ctx.control.tokens.rename(id, name)
    await ctx.auth.changed()
    return null
  },
  note: (target) => ({ target, count: 1 }),
})

/** Whoever may act, and each device for itself: signing out is nobody's privilege. */
export const revoke = changing({
  name: 'devices.revoke',
  access: 'anyone',
  input: idRequestSchema,
  output: z.null(),
  async run(ctx, { id }) {
    const { principal } = ctx
    // A JWT may say anything of whom it is about.
    const isItself = principal.tokenId !== null && principal.id === id
    if (!isItself) await authorize(ctx, 'act')
    await assertMayChange(ctx, id)
    await ctx.store.tokens.revoke(id)
    await ctx.auth.changed()
    return null
  },
  note: (target) => ({ target, count: 1 }),
})

/** A phone that was lost is shut out by whoever notices, unless it may do more than they do. */
async function assertMayChange({ control, principal }: ApiContext, id: string): Promise<void> {
  const device = await control.tokens.get(id)
  if (device?.kind !== 'device') throw new OncueError('TOKEN_NOT_FOUND', `There is no device ${id}`)
  if (!isAtMost(device.role, principal.role))
    throw new OncueError('FORBIDDEN', `${JSON.stringify(device.name)} is ${device.role}, and you are not`)
}

export async function toDevices(
  { control, principal }: ApiContext,
  tokens: readonly TokenRow[],
): Promise<Device[]> {
  const channels = (await control.channels.list()).filter(({ enabled }) => enabled)
  const pushOf = new Map(channels.map((channel) => [channel.tokenId, channel]))
  const makerIds = new Set(tokens.flatMap(({ parentId }) => parentId ?? []))
  const makers = new Map((await control.tokens.getMany([...makerIds])).map((maker) => [maker.id, maker]))
  return tokens.map((token) => {
    const { id, name, role, created, createdBy, parentId, expiresAt, idleUntil, lastUsed, revokedAt } = token
    const maker = makers.get(parentId ?? '')
    return {
      ...{ id, name, role, created, createdBy, expiresAt, idleUntil, lastUsed, revokedAt },
      maker: maker && maker.kind !== 'session' ? { id: maker.id, kind: maker.kind, name: maker.name } : null,
      isThis: principal.id === id,
      push: pushOf.get(id) ?? null,
    }
  })
}
