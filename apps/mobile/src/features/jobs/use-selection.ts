import { useCallback, useState } from 'react'

/** Null: one does not select now. 'all': whatever matches, known here or not. */
export type Selected = ReadonlySet<string> | 'all' | null

/** Of what one looks at: with another filter it ends, so that nothing out of sight is acted on. */
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
    /** Selects, or takes back. Of all, it goes back to one by one. */
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
