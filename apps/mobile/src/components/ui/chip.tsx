import { ScrollView, StyleSheet, View } from 'react-native'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'
import { useToast } from './toast.tsx'

export interface ChipProps {
  readonly label: string
  readonly onPress: () => void
  readonly isOn?: boolean
  readonly icon?: IconName
  /** Shows a cross: pressing removes the filter. */
  readonly isRemovable?: boolean
  /** Why it cannot be used now: it shows a lock, and says so when pressed. */
  readonly lock?: string | null
}

/** A filter that is on or off. */
export function Chip(props: ChipProps) {
  const { label, onPress, isOn = false, icon, isRemovable = false, lock = null } = props
  const { colors } = useTheme()
  const toast = useToast()
  const ink = lock !== null ? 'textMuted' : isOn ? 'accent' : 'text'
  const shown = lock !== null ? 'lock' : icon
  return (
    <Pressable
      role="button"
      aria-pressed={isOn}
      aria-label={isRemovable ? `Remove filter ${label}` : label}
      aria-disabled={lock !== null}
      {...(lock !== null && { accessibilityHint: lock })}
      onPress={lock === null ? onPress : () => toast.show({ text: lock, icon: 'lock' })}
      style={styles.target}
    >
      <View
        style={[
          styles.chip,
          { borderColor: colors.line, backgroundColor: colors.surfaceRaised },
          isOn && { borderColor: colors.accent, backgroundColor: colors.accentSoft },
        ]}
      >
        {shown && <Icon name={shown} size={16} color={ink} />}
        <Text variant="label" color={ink} style={styles.label}>
          {label}
        </Text>
        {isRemovable && <Icon name="close" size={14} color={ink} />}
      </View>
    </Pressable>
  )
}

interface ChipsProps {
  readonly children: React.ReactNode
  /** All are in sight, in as many rows as they need. */
  readonly wraps?: boolean
}

/** In a row that scrolls sideways rather than wrapping, unless there is room for more rows. */
export function Chips({ children, wraps = false }: ChipsProps) {
  if (wraps) return <View style={[styles.row, styles.wrapped]}>{children}</View>
  return (
    <ScrollView
      horizontal
      showsHorizontalScrollIndicator={false}
      style={styles.scroll}
      contentContainerStyle={styles.row}
    >
      {children}
    </ScrollView>
  )
}

const styles = StyleSheet.create({
  target: { justifyContent: 'center', borderRadius: radius.full, maxWidth: '100%' },
  label: { flexShrink: 1, minWidth: 0 },
  chip: {
    flexDirection: 'row',
    alignItems: 'center',
    justifyContent: 'center',
    gap: 6,
    minHeight: 36,
    borderRadius: radius.full,
    borderWidth: 1,
    paddingHorizontal: space.m,
  },
  scroll: { flexGrow: 0 },
  row: { gap: space.s, paddingHorizontal: space.l },
  wrapped: { flexDirection: 'row', flexWrap: 'wrap', rowGap: 0 },
})
