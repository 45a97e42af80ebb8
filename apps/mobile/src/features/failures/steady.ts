import { useState } from 'react'

export interface SteadyRow<Item> {
  readonly item: Item
  /** It is no longer among the latest; its place is kept. */
  readonly isGone: boolean
}

export interface Steady<Item> {
  readonly rows: readonly SteadyRow<Item>[]
  /** How many came since: "2 new – tap to show". */
  readonly waiting: number
  /** In the order of the latest, with whatever came. */
  readonly show: () => void
}

/**
 * Rows never move under a thumb: numbers change in place, what came waits to be asked for, what went leaves its
 * row behind. Another `about` (a filter) is another list.
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
