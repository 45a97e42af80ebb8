import type { ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { space, type Tone, toneOf } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { Text } from './text.tsx'

export interface BannerProps {
  readonly text: string
  readonly tone: Tone
  readonly icon: IconName
  readonly detail?: string
  /** A button. */
  readonly action?: ReactNode
}

/** Across the whole width, for what must not be overlooked: paused, failed to refresh, environment. */
export function Banner({ text, tone, icon, detail, action }: BannerProps) {
  const { colors } = useTheme()
  const { ink, wash } = toneOf(colors, tone)
  return (
    <View role="status" style={[styles.banner, { backgroundColor: wash }]}>
      <Icon name={icon} ink={ink} />
      <View style={styles.words}>
        <Text variant="heading">{text}</Text>
        {detail !== undefined && (
          <Text variant="small" color="text">
            {detail}
          </Text>
        )}
      </View>
      {action}
    </View>
  )
}

const styles = StyleSheet.create({
  banner: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: space.m,
    paddingHorizontal: space.l,
    paddingVertical: space.m,
  },
  words: { flex: 1, minWidth: 180, gap: 2 },
})
