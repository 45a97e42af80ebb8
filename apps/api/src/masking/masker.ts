import { OncueError } from '@oncue/core'
import type { JobFilter } from '@oncue/db'
import type { ApiContext } from '../context.ts'
import { createMask, MASK, type Mask, maskNothing } from './masking.ts'

let latest: { readonly keys: readonly string[]; readonly mask: Mask } | undefined

/** Admins see everything; without masked keys, every role does. */
export async function maskerOf(ctx: ApiContext): Promise<Mask> {
  return ctx.principal.role === 'admin' ? maskNothing : maskOfOthers(ctx)
}

/** Built again only when the setting changes. */
export async function maskOfOthers({ settings }: ApiContext): Promise<Mask> {
  const { maskedKeys: keys } = await settings.get()
  if (latest?.keys !== keys) latest = { keys, mask: keys.length > 0 ? createMask(keys) : maskNothing }
  return latest.mask
}

/**
 * Refuses a masked payload that is sent back: it would store the mask instead of the secret. The payload's text is a
 * fast first check, since most texts do not contain the mask.
 */
export async function unmaskedChecker(
  ctx: ApiContext,
): Promise<(payload: unknown, text: string, meta?: unknown) => void> {
  const mask = await maskOfOthers(ctx)
  return (payload, text, meta) => {
    if (!text.includes(MASK) && meta === undefined) return
    const [path] = mask({ payload, meta }, ['payload', 'meta']).copied
    if (path === undefined) return
    throw new OncueError('INVALID_PAYLOAD', `${path}: is the mask, not the real value`, {
      hint: 'Send the real value. Only an admin can read it here.',
      details: { path },
    })
  }
}

/**
 * A caller who may not see a value must not find it out by filtering for it. Any result of a search in payloads would
 * reveal something: the jobs, their number, the next cursor, or the time it took.
 */
export async function assertMayFilterBy(
  ctx: ApiContext,
  { meta, payloadText }: Pick<JobFilter, 'meta' | 'payloadText'>,
): Promise<void> {
  const mask = await maskerOf(ctx)
  if (mask === maskNothing) return
  if (payloadText !== undefined)
    throw new OncueError(
      'FORBIDDEN',
      'Only an admin may search in payloads: some of their values are masked',
      {
        hint: 'Filter by topic, queue, time or meta, and read the jobs; or ask an admin.',
      },
    )
  const [path] = meta ? mask({ meta }, ['meta']).masked : []
  if (path === undefined) return
  throw new OncueError('FORBIDDEN', `Only an admin may filter by ${path}: its values are masked`, {
    hint: 'Filter by another key, or ask an admin to remove this one from maskedKeys.',
  })
}

/** The filter as shown to this caller: the text that an admin searched for may itself be a masked value. */
export function maskFilter(mask: Mask, given: object): Record<string, unknown> {
  const filter: Record<string, unknown> = { ...mask({ given }, ['given']).value.given }
  const isHidden = mask !== maskNothing && filter.payloadText !== undefined
  return isHidden ? { ...filter, payloadText: MASK } : filter
}
