import { StyleSheet, View } from 'react-native'
import { radius, type Tone, toneOf } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Text } from './text.tsx'

/** A word beside something: "new", "PROD", a count. */
export function Badge({ label, tone = 'neutral' }: { readonly label: string; readonly tone?: Tone }) {
  const { colors } = useTheme()
  const { ink, wash } = toneOf(colors, tone)
  return (
    <View style={styles.line}>
      <View style={[styles.badge, { backgroundColor: wash }]}>
        <Text variant="overline" style={{ color: ink }} numberOfLines={1}>
          {label}
        </Text>
      </View>
    </View>
  )
}

const styles = StyleSheet.create({
  /** As wide as its word, in rows and columns alike. */
  line: { flexDirection: 'row' },
  badge: { borderRadius: radius.s, paddingHorizontal: 6, paddingVertical: 3 },
})
