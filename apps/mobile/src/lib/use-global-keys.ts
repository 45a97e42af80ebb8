import type { GlobalKeys } from './keys.ts'

export const PALETTE_KEY = ''

/** A phone has no keyboard to speak of. */
export function useGlobalKeys(_keys: GlobalKeys): void {}
