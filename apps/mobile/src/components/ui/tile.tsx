import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { useFontScale } from '../../lib/font-scale.ts'
import type { Quantity } from '../../lib/format.ts'
import { textSize } from '../../theme/text-size.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { numberSize, UNIT } from './number-size.ts'
import { Pressable } from './pressable.tsx'
import { Sparkline } from './sparkline.tsx'
import { Text } from './text.tsx'

export interface TileProps {
  readonly label: string
  /** A number, or several with their units: 7 min 18 s. */
  readonly value: string | readonly Quantity[]
  readonly unit?: string
  /** "rising", "steady", "2 of 3 busy". */
  readonly trend?: string
  /** Above its threshold. Also said in words. */
  readonly isBad?: boolean
  readonly spark?: readonly (number | null)[]
  readonly threshold?: number
  /** How far the sparkline goes back: "last 30 min". */
  readonly window?: string
  readonly onPress?: () => void
  /** The large one, for the home screen. */
  readonly size?: 'large' | 'small'
}

const LARGE = [48, 40, 32, 26, 20] as const
const SMALL = [30, 26, 22, 18] as const

/** One number that can be read from across the room. */
export function Tile(props: TileProps) {
  const {
    label,
    value,
    unit = '',
    trend,
    isBad = false,
    spark,
    threshold,
    onPress,
    size = 'large',
    window,
  } = props
  const { colors } = useTheme()
  const fontScale = useFontScale()
  const [width, setWidth] = useState<number | null>(null)
  const sizes = size === 'large' ? LARGE : SMALL
  const parts = typeof value === 'string' ? [{ value, unit }] : value
  const fontSize = width === null ? sizes[0] : numberSize(parts, { width: width / fontScale, sizes })
  const unitSize = Math.max(14, fontSize * UNIT)
  const content = (
    <View style={styles.content}>
      <Text variant="label" color="textMuted">
        {label}
      </Text>
      <View style={styles.number} onLayout={({ nativeEvent }) => setWidth(nativeEvent.layout.width)}>
        {parts.map((part, at) => (
          <View key={part.unit} style={[styles.number, at > 0 && { marginLeft: unitSize / 4 }]}>
            <Text variant="hero" style={{ fontSize: textSize(fontSize), lineHeight: textSize(sizes[0] + 4) }}>
              {part.value}
            </Text>
            {part.unit !== '' && (
              <Text variant="title" color="textMuted" style={{ fontSize: textSize(unitSize) }}>
                {part.unit}
              </Text>
            )}
          </View>
        ))}
      </View>
      <Text variant="label" color={isBad ? 'bad' : 'textMuted'} strong={isBad}>
        {trend ?? ' '}
      </Text>
      {spark && (
        <View style={styles.spark}>
          <Sparkline values={spark} isBad={isBad} {...(threshold !== undefined && { threshold })} />
          {window !== undefined && (
            <Text variant="small" color="textMuted">
              {window}
            </Text>
          )}
        </View>
      )}
    </View>
  )
  const face = [
    styles.tile,
    { backgroundColor: colors.surfaceRaised, borderColor: isBad ? colors.bad : colors.line },
  ]
  const words = parts.map((part) => `${part.value} ${part.unit}`.trim()).join(' ')
  const spoken = `${label}: ${words}${trend ? `, ${trend}` : ''}${window ? `, ${window}` : ''}`
  if (!onPress)
    return (
      <View style={face} accessible aria-label={spoken}>
        {content}
      </View>
    )
  return (
    <Pressable role="link" spoken={spoken} onPress={onPress} style={face}>
      {content}
    </Pressable>
  )
}

const styles = StyleSheet.create({
  tile: { borderRadius: radius.l, borderWidth: 1, flexGrow: 1, overflow: 'hidden' },
  content: { padding: space.l, gap: space.xs, flexGrow: 1 },
  /** Aligns the sparklines of tiles that stand side by side. */
  spark: { marginTop: 'auto' },
  /** A unit that does not fit beside its number wraps below it, so that neither is cut off. */
  number: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'baseline',
    columnGap: space.xs,
    maxWidth: '100%',
  },
})
