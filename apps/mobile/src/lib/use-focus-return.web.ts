import { useEffect, useState } from 'react'

/** Gives the focus back, when this goes, to what had it when this came. */
export function useFocusReturn(): void {
  // While it is drawn for the first time: what is inside may take the focus as soon as it is there.
  const [before] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
    },
    [before],
  )
}
