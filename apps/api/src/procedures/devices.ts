import { OncueError } from '@oncue/core'
import {
  type Device,
  deliverySchema,
  deviceSchema,
  idRequestSchema,
  isAtMost,
  registerPushRequestSchema,
  registerWebPushRequestSchema,
  renameDeviceRequestSchema,
  webPushKeySchema,
} from '@oncue/core/wire'
import type { TokenRow } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { Expo } from 'expo-server-sdk'
import { z } from 'zod'
import type { Principal } from '../auth/principal.ts'
import type { ApiContext } from '../context.ts'
import { authorize, mutation, query } from './procedure.ts'

const NO_DEVICE = 'Only a paired device can get notifications'

export const devices = {
  list: query({
    access: 'act',
    input: z.undefined(),
    output: z.array(deviceSchema),
    run: async (ctx) => toDevices(ctx, await ctx.control.tokens.list({ kind: 'device' })),
  }),

  rename: mutation({
    access: 'act',
    input: renameDeviceRequestSchema,
    output: z.null(),
    async run(ctx, { id, name }) {
      await assertMayChange(ctx, id)
      await ctx.control.tokens.rename(id, name)
      await ctx.auth.changed()
      return null
    },
    audit: (target) => ({ target, count: 1 }),
  }),

  /** Callers who may act revoke any device, and each device itself: signing out takes no role. */
  revoke: mutation({
    access: 'anyone',
    input: idRequestSchema,
    output: z.null(),
    async run(ctx, { id }) {
      const { principal } = ctx
      // The subject of a JWT may be any text.
      const isItself = principal.tokenId !== null && principal.id === id
      if (!isItself) await authorize(ctx, 'act')
      await assertMayChange(ctx, id)
      await ctx.store.tokens.revoke(id)
      await ctx.auth.changed()
      return null
    },
    audit: (target) => ({ target, count: 1 }),
  }),

  /** A device sets its own push token. */
  registerPush: mutation({
    access: 'read',
    input: registerPushRequestSchema,
    output: z.null(),
    async run({ store, control, principal }, { pushToken }) {
      if (pushToken !== null && !Expo.isExpoPushToken(pushToken))
        throw new OncueError('INVALID_INPUT', 'input.pushToken: is not an Expo push token')
      const deviceId = await deviceOf(control, principal)
      if (deviceId === null && pushToken !== null)
        throw new OncueError('FORBIDDEN', NO_DEVICE, { hint: 'Pair this device, and use its token.' })
      if (deviceId !== null) await store.channels.setPush(deviceId, pushToken)
      return null
    },
    audit: ({ pushToken }) => ({ target: { isReached: pushToken !== null }, count: 1 }),
  }),

  /** What a browser needs to subscribe. */
  webPushKey: query({
    access: 'read',
    input: z.undefined(),
    output: webPushKeySchema,
    async run({ control, principal, delivery }) {
      const holder = await holderOf(control, principal)
      const isRegistered = (await control.channels.list()).some(
        ({ kind, tokenId }) => kind === 'web_push' && tokenId !== null && tokenId === holder,
      )
      return { key: await delivery.webPush.publicKey(), isRegistered }
    },
  }),

  /** A browser sets its own subscription, as a paired device or as a session: it ends with either. */
  registerWebPush: mutation({
    access: 'read',
    input: registerWebPushRequestSchema,
    output: z.null(),
    async run({ store, control, principal, delivery }, { subscription }) {
      const holder = await holderOf(control, principal)
      if (subscription !== null) await delivery.webPush.assertUsable(subscription, principal.role)
      if (holder === null && subscription !== null)
        throw new OncueError('FORBIDDEN', 'Only a browser that has signed in can get notifications', {
          hint: 'Sign in to the app, or pair this browser.',
        })
      if (holder !== null) await store.channels.setWebPush(holder, subscription)
      return null
    },
    audit: ({ subscription }) => ({ target: { isReached: subscription !== null }, count: 1 }),
  }),

  testPush: mutation({
    access: 'read',
    input: z.strictObject({}).default({}),
    output: deliverySchema,
    async run({ control, principal, delivery }) {
      const holder = await holderOf(control, principal)
      if (holder === null) return { delivered: false, error: NO_DEVICE }
      const channel = (await control.channels.list()).find(({ tokenId }) => tokenId === holder)
      return channel
        ? delivery.test(channel)
        : { delivered: false, error: 'This device has no notifications turned on' }
    },
    audit: (_, { delivered }) => ({ target: { delivered }, count: 1 }),
  }),
}

/** Any caller may shut out a lost phone, unless the phone has a higher role. */
async function assertMayChange({ control, principal }: ApiContext, id: string): Promise<void> {
  const device = await control.tokens.get(id)
  if (device?.kind !== 'device') throw new OncueError('TOKEN_NOT_FOUND', `There is no device ${id}`)
  if (!isAtMost(device.role, principal.role))
    throw new OncueError(
      'FORBIDDEN',
      `${JSON.stringify(device.name)} has the role ${device.role}, which you do not have`,
    )
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

/** The id of the calling device, also in a session that was made from it. */
async function deviceOf({ tokens }: Control, { id, tokenId }: Principal): Promise<string | null> {
  const token = tokenId === null ? null : await tokens.get(id)
  return token?.kind === 'device' ? id : null
}

/** What the notifications of a caller belong to: its device, or the session of its browser. */
async function holderOf(control: Control, principal: Principal): Promise<string | null> {
  const device = await deviceOf(control, principal)
  return device ?? (principal.kind === 'session' ? principal.tokenId : null)
}
