import { OncueError } from '@oncue/core'
import { deliverySchema, registerPushRequestSchema } from '@oncue/core/wire'
import type { Control } from '@oncue/db/control'
import { Expo } from 'expo-server-sdk'
import { z } from 'zod'
import type { Principal } from '../auth/principal.ts'
import { changing } from './procedure.ts'

const NO_DEVICE = 'Only a device that was paired can be sent notifications'

/** A device for itself: where it is sent notifications from now on. */
export const registerPush = changing({
  name: 'devices.registerPush',
  access: 'read',
  input: registerPushRequestSchema,
  output: z.null(),
  async run({ store, control, principal }, { pushToken }) {
    if (pushToken !== null && !Expo.isExpoPushToken(pushToken))
      throw new OncueError('INVALID_INPUT', 'input.pushToken: is no push token of Expo')
    const deviceId = await deviceOf(control, principal)
    if (deviceId === null && pushToken !== null)
      throw new OncueError('FORBIDDEN', NO_DEVICE, { hint: 'Pair this device, and call with its token.' })
    if (deviceId !== null) await store.channels.setPush(deviceId, pushToken)
    return null
  },
  note: ({ pushToken }) => ({ target: { isReached: pushToken !== null }, count: 1 }),
})

export const testPush = changing({
  name: 'devices.testPush',
  access: 'read',
  input: z.strictObject({}).default({}),
  output: deliverySchema,
  async run({ control, principal, delivery }) {
    const deviceId = await deviceOf(control, principal)
    if (deviceId === null) return { delivered: false, error: NO_DEVICE }
    const channel = (await control.channels.list()).find(({ tokenId }) => tokenId === deviceId)
    return channel
      ? delivery.test(channel)
      : { delivered: false, error: 'This device is sent no notifications' }
  },
  note: (_, { delivered }) => ({ target: { delivered }, count: 1 }),
})

/** Also in a session that was made from it. */
async function deviceOf({ tokens }: Control, { id, tokenId }: Principal): Promise<string | null> {
  const token = tokenId === null ? null : await tokens.get(id)
  return token?.kind === 'device' ? id : null
}
