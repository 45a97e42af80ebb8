import { useState } from 'react'

export interface SteadyRow<Item> {
  readonly item: Item
  /** It is no longer among the latest; its place is kept. */
  readonly isGone: boolean
}

export interface Steady<Item> {
  readonly rows: readonly SteadyRow<Item>[]
  /** How many new items are not shown yet: "2 new – tap to show". */
  readonly waiting: number
  /** Shows the latest items in their order. */
  readonly show: () => void
}

/**
 * Rows never move under a thumb: numbers change in place, new items wait for a tap, and items that are gone keep
 * their row. Another `about` (a filter) is another list.
 */
export function useSteady<Item>(
  latest: readonly Item[] | undefined,
  idOf: (item: Item) => string,
  about: string,
): Steady<Item> {
  const [kept, setKept] = useState<{ readonly about: string; readonly items: readonly Item[] } | null>(null)
  // A list that was empty has no row that could move.
  if (latest && (kept?.about !== about || kept.items.length === 0) && kept?.items !== latest)
    setKept({ about, items: latest })
  const shown = kept?.about === about ? kept.items : (latest ?? [])
  return {
    ...steady(shown, latest ?? shown, idOf),
    show: () => latest && setKept({ about, items: latest }),
  }
}

export function steady<Item>(
  shown: readonly Item[],
  latest: readonly Item[],
  idOf: (item: Item) => string,
): { rows: readonly SteadyRow<Item>[]; waiting: number } {
  const byId = new Map(latest.map((item) => [idOf(item), item]))
  const rows = shown.map((old) => {
    const item = byId.get(idOf(old))
    return item === undefined ? { item: old, isGone: true } : { item, isGone: false }
  })
  const known = new Set(shown.map(idOf))
  return { rows, waiting: latest.filter((item) => !known.has(idOf(item))).length }
}
