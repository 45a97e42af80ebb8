import { useEffect, useState } from 'react'
import { AccessibilityInfo } from 'react-native'

/** Whether the user asked for reduced motion. */
export function useReducedMotion(): boolean {
  const [isReduced, setReduced] = useState(false)
  useEffect(() => {
    let isHere = true
    void AccessibilityInfo.isReduceMotionEnabled().then((value) => isHere && setReduced(value))
    const listener = AccessibilityInfo.addEventListener('reduceMotionChanged', setReduced)
    return () => {
      isHere = false
      listener.remove()
    }
  }, [])
  return isReduced
}
