import { useEffect, useRef } from 'react'

/** What is open, the topmost last. */
const opened: unknown[] = []

/** While something is open, the browser's back closes it, and the page stays. */
export function useBack(isOpen: boolean, close: () => void): void {
  const latest = useRef(close)
  latest.current = close
  useEffect(() => {
    // In a browser without the Navigation API, back leaves the page.
    if (!isOpen || !('navigation' in window)) return
    return closeOnBack(window.navigation, () => latest.current())
  }, [isOpen])
}

/**
 * Prevents the navigation instead of adding a history entry, which would confuse the router: it counts entries. Steps
 * of the router itself pass, and so do those that the browser does not let a page prevent: a second back without a
 * user gesture in between, and one that leaves the app.
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
