import { settingsRequestSchema, settingsResponseSchema } from '@oncue/core/wire'
import { z } from 'zod'
import type { LiveSettings } from '../auth/settings.ts'
import { actorOf } from './actor.ts'
import { changing, reading } from './procedure.ts'

export const get = reading({
  name: 'settings.get',
  access: 'admin',
  input: z.undefined(),
  output: settingsResponseSchema,
  run: ({ settings }) => show(settings),
})

export const set = changing({
  name: 'settings.set',
  access: 'admin',
  input: settingsRequestSchema,
  output: settingsResponseSchema,
  async run(ctx, { reset, ...values }) {
    await ctx.settings.change({ set: values, reset, by: actorOf(ctx) })
    await ctx.auth.changed()
    return show(ctx.settings)
  },
  note: (target) => {
    const { reset, ...values } = target
    return { target, count: reset.length + Object.keys(values).length }
  },
})

async function show(settings: LiveSettings) {
  return { values: await settings.get(), sources: await settings.sources() }
}
