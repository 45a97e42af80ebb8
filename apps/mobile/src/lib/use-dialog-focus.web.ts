import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react'
import type { View } from 'react-native'

const CONTROLS = 'a[href], input, textarea, select, [tabindex="0"]'

let openDialogs = 0
/** Where the focus was before the first of the dialogs that are open, or follow one another. */
let cameFrom: HTMLElement | null = null

/**
 * Focus starts on the first control of a dialog, and returns to where it came from. The modal of react-native-web
 * would take its scrim for a control, and return to that. The ref is that of the box: its head, what is in it, its foot.
 */
export function useDialogFocus(isOpen: boolean): RefObject<View | null> {
  const box = useRef<View>(null)
  // Before the effects of the modal, which move the focus.
  useLayoutEffect(() => {
    if (!isOpen) return
    // One that takes the place of another finds no focus: it returns to where that one was opened.
    const from = isNothingFocused() ? cameFrom : (document.activeElement as HTMLElement)
    cameFrom = from
    openDialogs += 1
    return () => {
      openDialogs -= 1
      // Once its elements are gone, and with them the modal that lets no focus out.
      requestAnimationFrame(() => {
        if (openDialogs === 0) cameFrom = null
        if (isNothingFocused() && from?.isConnected) from.focus()
      })
    }
  }, [isOpen])
  useEffect(() => {
    if (isOpen) firstControl(box.current as unknown as HTMLElement | null)?.focus()
  }, [isOpen])
  return box
}

/** Of what it is about, or else the button that closes it: never, unasked, the one that confirms. */
function firstControl(box: HTMLElement | null): HTMLElement | null {
  const [head, body] = box?.children ?? []
  return body?.querySelector<HTMLElement>(CONTROLS) ?? head?.querySelector<HTMLElement>(CONTROLS) ?? null
}

const isNothingFocused = () => document.activeElement === null || document.activeElement === document.body
