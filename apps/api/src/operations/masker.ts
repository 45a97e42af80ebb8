import { OncueError } from '@oncue/core'
import type { JobFilter } from '@oncue/db'
import type { ApiContext } from '../context.ts'
import { createMask, MASK, type Mask, maskNothing } from '../masking.ts'

let latest: { readonly keys: readonly string[]; readonly mask: Mask } | undefined

/** Admins see everything. */
export async function maskerOf(ctx: ApiContext): Promise<Mask> {
  return ctx.principal.role === 'admin' ? maskNothing : maskOfOthers(ctx)
}

/** Made anew only when the setting changes. */
async function maskOfOthers({ settings }: ApiContext): Promise<Mask> {
  const { maskedKeys: keys } = await settings.get()
  if (latest?.keys !== keys) latest = { keys, mask: createMask(keys) }
  return latest.mask
}

/**
 * Somebody who was shown a masked payload and sends it back would store the mask instead of the secret. Takes
 * the payload's text as well, because most of them need no further look.
 */
export async function unmaskedChecker(ctx: ApiContext): Promise<(payload: unknown, text: string) => void> {
  const mask = await maskOfOthers(ctx)
  return (payload, text) => {
    if (!text.includes(MASK)) return
    const [path] = mask({ payload }, ['payload']).copied
    if (path === undefined) return
    throw new OncueError('INVALID_PAYLOAD', `${path}: is the mask, and not the value behind it`, {
      hint: 'Send the value itself. Only an admin can read it here; or ask whoever made it.',
      details: { path },
    })
  }
}

/** Whoever may not see a value may not find it out either, by asking which jobs have it. */
export async function assertMayAskFor(ctx: ApiContext, { meta }: Pick<JobFilter, 'meta'>): Promise<void> {
  if (!meta) return
  const [path] = (await maskerOf(ctx))({ meta }, ['meta']).masked
  if (path === undefined) return
  throw new OncueError('FORBIDDEN', `Only an admin may filter by ${path}: its values are masked`, {
    hint: 'Filter by another key, or ask an admin to take this one out of maskedKeys.',
  })
}
