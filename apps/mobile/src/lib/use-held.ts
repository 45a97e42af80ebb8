import { useState } from 'react'

export interface Held<Item> {
  /** What to show. */
  readonly items: readonly Item[]
  /** How many new items are not shown: "12 new – tap to show". */
  readonly waiting: number
  readonly show: () => void
}

/**
 * Rows never move under a thumb: while something is selected or open, the list stays as it was, and counts new
 * items.
 */
export function useHeld<Item>(
  items: readonly Item[],
  { isHeld, idOf }: { readonly isHeld: boolean; readonly idOf: (item: Item) => string },
): Held<Item> {
  const [kept, setKept] = useState<readonly Item[] | null>(null)
  if (!isHeld && kept !== null) setKept(null)
  if (isHeld && kept === null) setKept(items)
  const shown = isHeld ? (kept ?? items) : items
  return { items: shown, waiting: countNew(shown, items, idOf), show: () => setKept(items) }
}

export function countNew<Item>(
  shown: readonly Item[],
  latest: readonly Item[],
  idOf: (item: Item) => string,
): number {
  if (shown === latest) return 0
  const known = new Set(shown.map(idOf))
  return latest.filter((item) => !known.has(idOf(item))).length
}
