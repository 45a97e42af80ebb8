import type { Keys } from './keys.ts'

/** Phones have no keys to listen to. */
export function useKeyboard(_keys: Keys, _isActive = true): void {}
