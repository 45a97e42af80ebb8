import { settingsRequestSchema, settingsResponseSchema } from '@oncue/core/wire'
import { z } from 'zod'
import type { LiveSettings } from '../auth/settings.ts'
import { actorOf } from './actor.ts'
import { mutation, query } from './procedure.ts'

export const settings = {
  get: query({
    access: 'admin',
    input: z.undefined(),
    output: settingsResponseSchema,
    run: ({ settings }) => show(settings),
  }),

  set: mutation({
    access: 'admin',
    input: settingsRequestSchema,
    output: settingsResponseSchema,
    async run(ctx, { reset, ...values }) {
      await ctx.settings.change({ set: values, reset, by: actorOf(ctx) })
      await ctx.auth.changed()
      return show(ctx.settings)
    },
    audit: (target) => {
      const { reset, ...values } = target
      return { target, count: reset.length + Object.keys(values).length }
    },
  }),
}

async function show(settings: LiveSettings) {
  return { values: await settings.get(), sources: await settings.sources() }
}
