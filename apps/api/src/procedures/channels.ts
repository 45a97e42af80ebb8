import { randomBytes } from 'node:crypto'
import { OncueError } from '@oncue/core'
import {
  type Channel,
  channelSchema,
  createChannelRequestSchema,
  createdChannelSchema,
  deliverySchema,
  idRequestSchema,
  updateChannelRequestSchema,
} from '@oncue/core/wire'
import type { ChannelRow } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { z } from 'zod'
import { actorOf } from './actor.ts'
import { mutation, query } from './procedure.ts'

export const channels = {
  list: query({
    access: 'read',
    input: z.undefined(),
    output: z.array(channelSchema),
    run: async ({ control }) => (await control.channels.list()).map(show),
  }),

  create: mutation({
    access: 'admin',
    input: createChannelRequestSchema,
    output: createdChannelSchema,
    async run(ctx, { kind, name, url }) {
      const address = new URL(url)
      await ctx.delivery.guard.assertAllowed(address)
      const secret = kind === 'webhook' ? `whsec_${randomBytes(32).toString('base64url')}` : null
      const channel = { kind, name, address: address.href, secret, createdBy: actorOf(ctx) }
      return { ...show(await ctx.control.channels.create(channel)), secret }
    },
    audit: ({ kind, name }, { id }) => ({ target: { id, kind, name }, count: 1 }),
  }),

  update: mutation({
    access: 'admin',
    input: updateChannelRequestSchema,
    output: channelSchema,
    async run({ control }, { id, ...change }) {
      if (change.name !== undefined && (await existing(control, id)).kind === 'push') {
        const hint = 'Rename the device: devices.rename.'
        throw new OncueError(
          'INVALID_INPUT',
          'input.name: the channel of a device has the name of the device',
          { hint },
        )
      }
      return show(await control.channels.update(id, change))
    },
    audit: (target) => ({ target, count: 1 }),
  }),

  delete: mutation({
    access: 'admin',
    input: idRequestSchema,
    output: z.null(),
    async run({ control }, { id }) {
      await control.channels.remove(id)
      return null
    },
    audit: (target) => ({ target, count: 1 }),
  }),

  test: mutation({
    access: 'act',
    input: idRequestSchema,
    output: deliverySchema,
    run: async ({ control, delivery }, { id }) => delivery.test(await existing(control, id)),
    audit: (target, { delivered }) => ({ target: { ...target, delivered }, count: 1 }),
  }),
}

async function existing(control: Control, id: string): Promise<ChannelRow> {
  const channel = await control.channels.get(id)
  if (channel) return channel
  throw new OncueError('CHANNEL_NOT_FOUND', `There is no channel ${id}`)
}

function show({ tokenId, address, secret: _, ...channel }: ChannelRow): Channel {
  return { ...channel, address: beginningOf(channel.kind, address), deviceId: tokenId }
}

/** The whole address is a secret: many services have their key in the path. */
function beginningOf(kind: Channel['kind'], address: string): string {
  return kind === 'push' ? `${address.slice(0, address.indexOf('[') + 5)}…` : `${new URL(address).origin}/…`
}
