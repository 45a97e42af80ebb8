import { createContext, useContext } from 'react'
import { ActivityIndicator, StyleSheet, View } from 'react-native'
import { type Palette, radius, space, TARGET } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'
import { useToast } from './toast.tsx'

export type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger'

export interface ButtonProps {
  readonly label: string
  readonly onPress: () => void
  readonly variant?: ButtonVariant
  readonly icon?: IconName
  readonly isBusy?: boolean
  /** Why it cannot be used now, from `useLock()`. It stays where it is, with a lock, and says so when pressed. */
  readonly lock?: string | null
  /** What it still needs, such as a filled form: it is grey, without a lock, and says so when pressed. */
  readonly needs?: string | null
  /** Fills its row. */
  readonly wide?: boolean
  /** What a reader hears, where the label alone would not say it. */
  readonly hint?: string
}

/** In a bar, where three of them stand in one row on a phone. */
export const Tight = createContext(false)

export function Button(props: ButtonProps) {
  const { label, onPress, variant = 'secondary', icon, isBusy = false, lock = null, needs = null } = props
  const { wide, hint } = props
  const reason = lock ?? needs
  const { colors } = useTheme()
  const toast = useToast()
  const isTight = useContext(Tight)
  const shown = isTight && variant === 'quiet' ? undefined : icon
  const ink = colors[INK[reason === null ? variant : 'locked']]
  return (
    <Pressable
      role="button"
      isFilled={variant === 'primary' || variant === 'danger'}
      aria-label={label}
      aria-disabled={reason !== null || isBusy}
      aria-busy={isBusy}
      accessibilityHint={reason ?? hint}
      onPress={() => {
        if (isBusy) return
        if (reason === null) onPress()
        else toast.show({ text: reason, icon: lock === null ? 'warn' : 'lock' })
      }}
      style={[
        styles.button,
        isTight && (variant === 'quiet' ? styles.tightest : styles.tight),
        wide && styles.wide,
        faceOf(colors, reason === null ? variant : 'locked'),
      ]}
    >
      <View style={styles.content}>
        {isBusy ? (
          <ActivityIndicator size="small" color={ink} />
        ) : (
          (lock !== null || shown) && (
            <Icon name={lock === null && shown ? shown : 'lock'} size={18} ink={ink} />
          )
        )}
        <Text variant="heading" style={{ color: ink }}>
          {label}
        </Text>
      </View>
    </Pressable>
  )
}

const INK = {
  primary: 'onAccent',
  secondary: 'text',
  quiet: 'accent',
  danger: 'onBad',
  locked: 'textMuted',
} as const satisfies Record<string, keyof Palette>

export function faceOf(colors: Palette, variant: ButtonVariant | 'locked') {
  switch (variant) {
    case 'primary':
      return { backgroundColor: colors.accent }
    case 'danger':
      return { backgroundColor: colors.bad }
    case 'secondary':
      return { backgroundColor: colors.surfaceRaised, borderColor: colors.lineStrong, borderWidth: 1 }
    case 'locked':
      return { backgroundColor: colors.surfaceSunken }
    case 'quiet':
      return {}
  }
}

const styles = StyleSheet.create({
  button: {
    minHeight: TARGET,
    borderRadius: radius.m,
    paddingHorizontal: space.l,
    paddingVertical: space.s,
    justifyContent: 'center',
    alignSelf: 'flex-start',
  },
  tight: { paddingHorizontal: space.m },
  tightest: { paddingHorizontal: space.s },
  wide: { alignSelf: 'stretch' },
  content: { flexDirection: 'row', gap: space.s, alignItems: 'center', justifyContent: 'center' },
})
