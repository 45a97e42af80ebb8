import { useEffect, useRef } from 'react'
import { Animated, Platform, StyleSheet, View } from 'react-native'
import { radius, space } from '../../theme/tokens.ts'
import { useReducedMotion } from '../../theme/use-reduced-motion.ts'
import { useTheme } from '../../theme/use-theme.ts'

/** A placeholder for content that is loading. */
export function Skeleton({
  height = 16,
  width = '100%',
}: {
  readonly height?: number
  readonly width?: number | `${number}%`
}) {
  const { colors } = useTheme()
  const opacity = useRef(new Animated.Value(1)).current
  const isStill = useReducedMotion()
  useEffect(() => {
    if (isStill) return
    const native = { duration: 700, useNativeDriver: Platform.OS !== 'web' }
    const pulse = Animated.loop(
      Animated.sequence([
        Animated.timing(opacity, { toValue: 0.45, ...native }),
        Animated.timing(opacity, { toValue: 1, ...native }),
      ]),
    )
    pulse.start()
    return () => pulse.stop()
  }, [isStill, opacity])
  return (
    <Animated.View
      style={{ height, width, opacity, borderRadius: radius.s, backgroundColor: colors.surfaceSunken }}
    />
  )
}

/** A placeholder for a list that is loading. */
export function SkeletonRows({ count = 6 }: { readonly count?: number }) {
  return (
    <View role="progressbar" aria-label="Loading" aria-busy>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike.
        <View key={index} style={styles.row}>
          <Skeleton width={index % 2 ? '52%' : '38%'} height={18} />
          <Skeleton width={index % 2 ? '74%' : '86%'} height={14} />
        </View>
      ))}
    </View>
  )
}

const styles = StyleSheet.create({
  row: { gap: space.s, paddingHorizontal: space.l, paddingVertical: space.l },
})
