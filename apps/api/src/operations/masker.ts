import type { ApiContext } from '../context.ts'
import { createMask, type Mask, maskNothing } from '../masking.ts'

let latest: { readonly keys: readonly string[]; readonly mask: Mask } | undefined

/** Admins see everything. The mask for all others is made anew only when the setting changes. */
export async function maskerOf({ principal, settings }: ApiContext): Promise<Mask> {
  if (principal.role === 'admin') return maskNothing
  const { maskedKeys: keys } = await settings.get()
  if (latest?.keys !== keys) latest = { keys, mask: createMask(keys) }
  return latest.mask
}
