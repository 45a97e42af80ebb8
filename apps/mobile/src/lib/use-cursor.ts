import { useState } from 'react'
import { useKeyboard } from './use-keyboard.ts'

/**
 * The row that j and k move to; o or Enter opens it, x selects it. Answers its id, for the row to show it.
 */
export function useCursor(
  ids: readonly string[],
  { onOpen, onSelect }: { readonly onOpen: (id: string) => void; readonly onSelect?: (id: string) => void },
): string | null {
  const [id, setId] = useState<string | null>(null)
  const at = id === null ? -1 : ids.indexOf(id)
  const move = (step: number) => setId(ids[Math.min(Math.max(at + step, 0), ids.length - 1)] ?? null)
  const current = at === -1 ? null : id
  useKeyboard({
    j: () => move(1),
    k: () => move(-1),
    o: () => current !== null && onOpen(current),
    x: () => current !== null && onSelect?.(current),
  })
  return current
}
