/** What each key does: `{ j: next, '/': search }`. */
export type Keys = Readonly<Record<string, () => void>>

/** The same on every screen, with `mod+k` for ⌘K or Ctrl K, and `g j` for one key after the other. */
export type GlobalKeys = Keys
