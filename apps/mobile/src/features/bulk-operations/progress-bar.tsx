import { StyleSheet, View } from 'react-native'
import { radius, type Tone, toneOf } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'

export interface ProgressBarProps {
  readonly label: string
  /** From 0 to 1. */
  readonly share: number
  readonly tone?: Tone
}

export function ProgressBar({ label, share, tone = 'accent' }: ProgressBarProps) {
  const { colors } = useTheme()
  const percent = Math.floor(share * 100)
  return (
    <View
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      style={[styles.track, { backgroundColor: colors.surfaceSunken }]}
    >
      <View style={[styles.fill, { width: `${share * 100}%`, backgroundColor: toneOf(colors, tone).ink }]} />
    </View>
  )
}

const styles = StyleSheet.create({
  track: { height: 10, borderRadius: radius.full, overflow: 'hidden' },
  fill: { height: '100%', borderRadius: radius.full },
})
