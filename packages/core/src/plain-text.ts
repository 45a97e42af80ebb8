import { z } from 'zod'
import { isStorableText } from './text.ts'

/** Any text that a database can hold, and therefore be asked for. */
export const plainText = (maxLength: number) =>
  z.string().max(maxLength).refine(isStorableText, { error: 'contains a NUL character or a lone surrogate' })
