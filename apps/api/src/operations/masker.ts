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

type Asked = Pick<JobFilter, 'meta' | 'payloadText'>

/**
 * Whoever may not see a value may not find it out either, by asking which jobs have it, or how many. A list of those
 * that have a text in their payload is looked through first (`keepShown`).
 */
export async function assertMayActOn(ctx: ApiContext, filter: Asked): Promise<void> {
  await assertMayAskFor(ctx, filter)
  if (filter.payloadText === undefined || (await maskerOf(ctx)) === maskNothing) return
  throw new OncueError('FORBIDDEN', 'Only an admin may act on jobs by a text in their payloads', {
    hint: 'The text could be a masked value. List the jobs with this filter, and act on them by their ids.',
  })
}

/** Of jobs that were found by a text in their payloads, those in which it can be seen. */
export async function keepShown<Item extends { readonly id: string }>(
  ctx: ApiContext,
  items: readonly Item[],
  text: string,
): Promise<Item[]> {
  const mask = await maskerOf(ctx)
  if (mask === maskNothing) return [...items]
  const shown: Item[] = []
  for (const item of items) {
    const { payload } = (await ctx.store.get(item.id)) ?? { payload: null }
    const json = JSON.stringify(mask({ payload }, ['payload']).value.payload)
    if (json.includes(text) || json.includes(JSON.stringify(text).slice(1, -1))) shown.push(item)
  }
  return shown
}

export async function assertMayAskFor(ctx: ApiContext, { meta }: Asked): Promise<void> {
  if (!meta) return
  const [path] = (await maskerOf(ctx))({ meta }, ['meta']).masked
  if (path === undefined) return
  throw new OncueError('FORBIDDEN', `Only an admin may filter by ${path}: its values are masked`, {
    hint: 'Filter by another key, or ask an admin to take this one out of maskedKeys.',
  })
}
