import { useEffect, useRef, useState } from 'react'
import { Animated, type GestureResponderEvent, StyleSheet, View } from 'react-native'
import { felt } from '../../lib/haptics.ts'
import { radius, space, TARGET } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { faceOf } from './button.tsx'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'

const HOLD_MS = 1_200
/** Keyboards and screen readers cannot hold, so a second press confirms; one this soon is a double click. */
const AGAIN_FROM_MS = 700
const AGAIN_UNTIL_MS = 8_000

export interface HoldButtonProps {
  /** "Hold to retry 312". */
  readonly label: string
  readonly onConfirm: () => void
  readonly variant?: 'primary' | 'danger'
}

/** For actions on many jobs: a slip of the thumb does nothing. */
export function HoldButton({ label, onConfirm, variant = 'primary' }: HoldButtonProps) {
  const { colors } = useTheme()
  const progress = useRef(new Animated.Value(0)).current
  const isHeldByPointer = useRef(false)
  const [armedAt, setArmedAt] = useState<number | null>(null)
  const ink = variant === 'danger' ? colors.onBad : colors.onAccent

  useEffect(() => {
    if (armedAt === null) return
    const timer = setTimeout(() => setArmedAt(null), AGAIN_UNTIL_MS)
    return () => clearTimeout(timer)
  }, [armedAt])

  const confirm = () => {
    felt('held')
    setArmedAt(null)
    onConfirm()
  }
  const onPressIn = (event: GestureResponderEvent) => {
    isHeldByPointer.current = !isKey(event)
    if (!isHeldByPointer.current) return
    Animated.timing(progress, { toValue: 1, duration: HOLD_MS, useNativeDriver: false }).start(
      ({ finished }) => finished && confirm(),
    )
  }
  const onPressOut = () => {
    progress.stopAnimation()
    progress.setValue(0)
  }
  const onPress = () => {
    if (isHeldByPointer.current) {
      isHeldByPointer.current = false
      return
    }
    if (armedAt === null) setArmedAt(Date.now())
    else if (Date.now() - armedAt >= AGAIN_FROM_MS) confirm()
  }

  return (
    <Pressable
      role="button"
      isFilled
      aria-label={armedAt === null ? label : `${label}. Press again to confirm.`}
      accessibilityHint="Press and hold, or press twice with a keyboard or screen reader"
      onPressIn={onPressIn}
      onPressOut={onPressOut}
      onPress={onPress}
      style={[styles.button, faceOf(colors, variant)]}
    >
      <Animated.View
        style={[
          styles.fill,
          {
            backgroundColor: ink,
            width: progress.interpolate({ inputRange: [0, 1], outputRange: ['0%', '100%'] }),
          },
        ]}
      />
      <View style={styles.label} aria-live="polite">
        <Text variant="heading" center style={{ color: ink }}>
          {armedAt === null ? label : 'Press again to confirm'}
        </Text>
      </View>
    </Pressable>
  )
}

const isKey = ({ nativeEvent }: GestureResponderEvent) =>
  (nativeEvent as unknown as { type?: string }).type === 'keydown'

const styles = StyleSheet.create({
  button: {
    minHeight: TARGET + space.s,
    borderRadius: radius.m,
    overflow: 'hidden',
    justifyContent: 'center',
    userSelect: 'none',
  },
  fill: { position: 'absolute', left: 0, top: 0, bottom: 0, opacity: 0.28 },
  label: { paddingHorizontal: space.l, paddingVertical: space.m },
})
