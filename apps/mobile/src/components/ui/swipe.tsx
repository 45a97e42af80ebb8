import { type ReactNode, useRef } from 'react'
import { Animated, PanResponder } from 'react-native'

/** A swipe this far to the left counts; a shorter one springs back. */
const FAR = 96
/** Sideways movement below this belongs to a vertical scroll. */
const MEANT = 16

export interface SwipeProps {
  readonly children: ReactNode
  /** Null: it cannot be swiped. A button must do the same. */
  readonly onSwipe: (() => void) | null
}

/** A row that is swiped to the left. */
export function Swipe({ children, onSwipe }: SwipeProps) {
  const shift = useRef(new Animated.Value(0)).current
  const swiped = useRef(onSwipe)
  swiped.current = onSwipe
  const back = () => void Animated.spring(shift, { toValue: 0, useNativeDriver: false }).start()
  const pan = useRef(
    PanResponder.create({
      onMoveShouldSetPanResponder: (_, { dx, dy }) =>
        swiped.current !== null && dx < -MEANT && Math.abs(dx) > 2 * Math.abs(dy),
      onPanResponderMove: (_, { dx }) => shift.setValue(Math.min(0, Math.max(dx, -2 * FAR))),
      onPanResponderRelease: (_, { dx }) => {
        back()
        if (dx < -FAR) swiped.current?.()
      },
      onPanResponderTerminate: back,
    }),
  ).current
  return (
    <Animated.View {...pan.panHandlers} style={{ transform: [{ translateX: shift }] }}>
      {children}
    </Animated.View>
  )
}
