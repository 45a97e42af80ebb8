import { StyleSheet, View } from 'react-native'
import { radius, type Tone, toneOf } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Text } from './text.tsx'

/** A word beside something: "new", "PROD", a count. */
export function Badge({
  label,
  tone = 'neutral',
  wraps = false,
}: {
  readonly label: string
  readonly tone?: Tone
  /** A long one takes several lines instead of being cut. */
  readonly wraps?: boolean
}) {
  const { colors } = useTheme()
  const { ink, wash } = toneOf(colors, tone)
  return (
    <View style={styles.line}>
      <View style={[styles.badge, { backgroundColor: wash }]}>
        <Text variant="overline" style={{ color: ink }} {...(!wraps && { numberOfLines: 1 })}>
          {label}
        </Text>
      </View>
    </View>
  )
}

const styles = StyleSheet.create({
  /** As wide as its word, in rows and columns alike. */
  line: { flexDirection: 'row' },
  badge: { borderRadius: radius.s, paddingHorizontal: 6, paddingVertical: 3, flexShrink: 1, minWidth: 0 },
})
