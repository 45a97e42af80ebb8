/** What each key does: `{ j: next, '/': search }`. */
export type Keys = Readonly<Record<string, () => void>>
