import { useEffect, useRef } from 'react'

/** What is open, the topmost last. */
const opened: unknown[] = []

/** While something is open, the browser's back closes it, and the page stays. */
export function useBack(isOpen: boolean, close: () => void): void {
  const latest = useRef(close)
  latest.current = close
  useEffect(() => {
    // Where a browser has none, back leaves the page.
    if (!isOpen || !('navigation' in window)) return
    return closeOnBack(window.navigation, () => latest.current())
  }, [isOpen])
}

/**
 * The step is refused before it is taken: the router counts what is in the history, and an entry of ours would mislead
 * it. The steps that it takes itself are let through, and so is what a browser does not let us refuse: a second back
 * without a touch in between, or one that leads out of the app.
 */
export function closeOnBack(navigation: Navigation, close: () => void): () => void {
  const onNavigate = (event: NavigateEvent) => {
    const isStep = event.navigationType === 'traverse' && event.userInitiated
    const isBack = event.destination.index < (navigation.currentEntry?.index ?? 0)
    if (!isStep || !isBack || !event.cancelable || opened.at(-1) !== onNavigate) return
    event.preventDefault()
    close()
  }
  opened.push(onNavigate)
  navigation.addEventListener('navigate', onNavigate)
  return () => {
    opened.splice(opened.indexOf(onNavigate), 1)
    navigation.removeEventListener('navigate', onNavigate)
  }
}
