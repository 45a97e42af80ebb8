import { useState } from 'react'
import { useKeyboard } from './use-keyboard.ts'

export interface CursorOptions {
  readonly onOpen: (id: string) => void
  readonly onSelect?: (id: string) => void
  /** The row whose detail is open: the cursor moves from there. */
  readonly openId?: string | undefined
}

/**
 * A keyboard cursor: j and k move it, o or Enter opens its row, x selects it. Returns the row's id.
 */
export function useCursor(
  ids: readonly string[],
  { onOpen, onSelect, openId }: CursorOptions,
): string | null {
  const [moved, setMoved] = useState<Moved | null>(null)
  // A row that was opened since, by keyboard or otherwise, is the new position.
  const id = moved?.openId === openId ? moved?.id : undefined
  const at = ids.indexOf(id ?? openId ?? '')
  const current = ids[at]
  const move = (step: number) => {
    const next = ids[Math.min(Math.max(at + step, 0), ids.length - 1)]
    if (next !== undefined) setMoved({ id: next, openId })
  }
  const open = () => current !== undefined && onOpen(current)
  useKeyboard({
    j: () => move(1),
    k: () => move(-1),
    o: open,
    Enter: open,
    x: () => current !== undefined && onSelect?.(current),
  })
  return id !== undefined && id === current ? id : null
}

interface Moved {
  readonly id: string
  readonly openId: string | undefined
}
