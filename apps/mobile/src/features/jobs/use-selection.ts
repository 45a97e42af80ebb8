import { useCallback, useState } from 'react'

/** Null: not in select mode. 'all': every matching job, loaded or not. */
export type Selected = ReadonlySet<string> | 'all' | null

/** A selection of visible rows: it ends when the filter changes, so that no action applies to hidden ones. */
export function useSelection(filter: unknown) {
  const [selected, setSelected] = useState<Selected>(null)
  const [seen, setSeen] = useState(filter)
  if (seen !== filter) {
    setSeen(filter)
    setSelected(null)
  }
  return {
    selected,
    start: () => setSelected(new Set()),
    /** Selects or deselects one row. After "all", it starts a selection row by row. */
    toggle: useCallback((id: string) => setSelected((before) => toggled(before, id)), []),
    all: () => setSelected('all'),
    end: () => setSelected(null),
  }
}

function toggled(before: Selected, id: string): ReadonlySet<string> {
  const next = new Set(before === 'all' ? [] : before)
  if (!next.delete(id)) next.add(id)
  return next
}

export function isSelected(selected: Selected, id: string): boolean | null {
  if (selected === null) return null
  return selected === 'all' || selected.has(id)
}
