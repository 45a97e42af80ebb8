import { randomBytes } from 'node:crypto'
import { OncueError } from '@oncue/core'
import {
  type Channel,
  type CreateChannelRequest,
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
import type { ApiContext } from '../context.ts'
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
    async run(ctx, request) {
      const channel = await toChannel(ctx, request)
      const created = show(await ctx.control.channels.create({ ...channel, createdBy: actorOf(ctx) }))
      // The other kinds have secrets that the caller has sent.
      return { ...created, secret: request.kind === 'webhook' ? channel.secret : null }
    },
    audit: ({ kind, name }, { id }) => ({ target: { id, kind, name }, count: 1 }),
  }),

  update: mutation({
    access: 'admin',
    input: updateChannelRequestSchema,
    output: channelSchema,
    async run({ control }, { id, ...change }) {
      if (change.name !== undefined && (await existing(control, id)).tokenId !== null) {
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

async function toChannel({ delivery }: ApiContext, request: CreateChannelRequest) {
  const { name } = request
  if ('key' in request) return { kind: request.kind, name, address: request.kind, secret: request.key }
  if ('to' in request) {
    if (delivery.mail.isConfigured) return { kind: request.kind, name, address: request.to, secret: null }
    throw new OncueError('INVALID_INPUT', 'input.kind: this server sends no e-mail', {
      hint: 'Set ONCUE_SMTP_URL and ONCUE_MAIL_FROM, and start the API again.',
    })
  }
  const url = new URL(request.url)
  await delivery.guard.assertAllowed(url)
  const address = url.href
  if (request.kind !== 'ntfy') {
    const secret = request.kind === 'webhook' ? `whsec_${randomBytes(32).toString('base64url')}` : null
    return { kind: request.kind, name, address, secret }
  }
  const { kind, priority, token = null } = request
  return { kind, name, address, secret: token, options: priority === undefined ? null : { priority } }
}

async function existing(control: Control, id: string): Promise<ChannelRow> {
  const channel = await control.channels.get(id)
  if (channel) return channel
  throw new OncueError('CHANNEL_NOT_FOUND', `There is no channel ${id}`)
}

function show({ tokenId, address, secret: _, options: __, ...channel }: ChannelRow): Channel {
  return { ...channel, address: shownAddress(channel.kind, address), deviceId: tokenId }
}

/** A whole URL is a secret: many services have their key in the path, and the name of a topic of ntfy is its password. */
function shownAddress(kind: Channel['kind'], address: string): string {
  switch (kind) {
    case 'push':
      return `${address.slice(0, address.indexOf('[') + 5)}…`
    case 'pagerduty':
      return 'PagerDuty'
    case 'opsgenie':
      return 'Opsgenie'
    case 'email':
      return address
    default:
      return `${new URL(address).origin}/…`
  }
}
