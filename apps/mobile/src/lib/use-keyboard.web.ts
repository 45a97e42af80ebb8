import { useIsFocused } from 'expo-router'
import { useEffect, useRef } from 'react'
import type { Keys } from './keys.ts'

/** Active while the screen is visible and no field has the focus; Escape leaves a field. A dialog blocks all keys. */
export function useKeyboard(keys: Keys, isActive = true): void {
  const isFocused = useIsFocused()
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    if (!isActive || !isFocused) return
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return
      if (event.isComposing || document.querySelector('[role="dialog"]')) return
      if (isTyping(event.target)) {
        if (event.key === 'Escape') event.target.blur()
        return
      }
      // Enter belongs to the focused element.
      if (event.key === 'Enter' && event.target !== document.body) return
      const act = latest.current[event.key]
      if (!act) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [isActive, isFocused])
}

const isTyping = (target: EventTarget | null): target is HTMLElement =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
