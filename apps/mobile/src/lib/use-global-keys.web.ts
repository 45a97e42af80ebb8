import { useEffect, useRef } from 'react'
import type { GlobalKeys } from './keys.ts'

/** As the keyboard of this machine has it. */
export const PALETTE_KEY = /Mac|iPad|iPhone/.test(navigator.platform) ? '⌘K' : 'Ctrl K'

/** How long a `g` waits for its letter. */
const PATIENCE_MS = 1_500

/**
 * Keys that work on every screen: `mod+k`, also while typing; `?`; `g j`, one after the other. They are heard before
 * those of a screen, so that the letter after a `g` is not taken for one of its own.
 */
export function useGlobalKeys(keys: GlobalKeys): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    let begunAt = Number.NEGATIVE_INFINITY
    const onKeyDown = (event: KeyboardEvent) => {
      const isSecond = event.timeStamp - begunAt < PATIENCE_MS
      begunAt = Number.NEGATIVE_INFINITY
      if (event.isComposing || event.altKey || document.querySelector('[role="dialog"]')) return
      const isModified = event.metaKey || event.ctrlKey
      if (!isModified && isTyping(event.target)) return
      const name = isModified ? `mod+${event.key.toLowerCase()}` : isSecond ? `g ${event.key}` : event.key
      const act = latest.current[name]
      if (act) {
        event.preventDefault()
        event.stopPropagation()
        act()
      } else if (name === 'g') begunAt = event.timeStamp
    }
    document.addEventListener('keydown', onKeyDown, true)
    return () => document.removeEventListener('keydown', onKeyDown, true)
  }, [])
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
