import { type RefObject, useRef } from 'react'
import type { View } from 'react-native'

/** Phones move the focus of their screen readers by themselves. */
export function useDialogFocus(_isOpen: boolean): RefObject<View | null> {
  return useRef<View>(null)
}
