import { StyleSheet, View } from 'react-native'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Pressable } from './pressable.tsx'
import { Sparkline } from './sparkline.tsx'
import { Text } from './text.tsx'

export interface TileProps {
  readonly label: string
  readonly value: string
  readonly unit?: string
  /** "rising", "steady", "2 of 3 busy". */
  readonly trend?: string
  /** Above its threshold. Said in words too. */
  readonly isBad?: boolean
  readonly spark?: readonly (number | null)[]
  readonly threshold?: number
  readonly onPress?: () => void
  /** The large one, for the home screen. */
  readonly size?: 'large' | 'small'
}

/** One number that can be read from across the room. */
export function Tile(props: TileProps) {
  const { label, value, unit, trend, isBad = false, spark, threshold, onPress, size = 'large' } = props
  const { colors } = useTheme()
  // Every digit of a large number, rather than some of it in large.
  const isLarge = size === 'large' && value.length <= 6
  const content = (
    <View style={styles.content}>
      <Text variant="label" color="textMuted">
        {label}
      </Text>
      <View style={styles.number}>
        <Text variant={isLarge ? 'hero' : 'display'}>{value}</Text>
        {unit !== undefined && (
          <Text variant={isLarge ? 'title' : 'heading'} color="textMuted">
            {unit}
          </Text>
        )}
      </View>
      <Text variant="label" color={isBad ? 'bad' : 'textMuted'} strong={isBad}>
        {trend ?? ' '}
      </Text>
      {spark && <Sparkline values={spark} isBad={isBad} {...(threshold !== undefined && { threshold })} />}
    </View>
  )
  const face = [
    styles.tile,
    { backgroundColor: colors.surfaceRaised, borderColor: isBad ? colors.bad : colors.line },
  ]
  const spoken = `${label}: ${value}${unit ? ` ${unit}` : ''}${trend ? `, ${trend}` : ''}`
  if (!onPress)
    return (
      <View style={face} accessible aria-label={spoken}>
        {content}
      </View>
    )
  return (
    <Pressable role="link" aria-label={spoken} onPress={onPress} style={face}>
      {content}
    </Pressable>
  )
}

const styles = StyleSheet.create({
  tile: { borderRadius: radius.l, borderWidth: 1, flexGrow: 1, overflow: 'hidden' },
  content: { padding: space.l, gap: space.xs },
  /** A unit that has no room beside its number goes below: neither is ever cut. */
  number: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'baseline', columnGap: space.xs },
})
