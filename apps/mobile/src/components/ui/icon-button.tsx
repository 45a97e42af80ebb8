import { StyleSheet } from 'react-native'
import { type Palette, radius, TARGET } from '../../theme/tokens.ts'
import { Icon, type IconName } from './icon.tsx'
import { Pressable } from './pressable.tsx'
import { useToast } from './toast.tsx'

export interface IconButtonProps {
  readonly icon: IconName
  readonly label: string
  readonly onPress: () => void
  readonly color?: keyof Palette
  /** Why it cannot be used now, as for a button. */
  readonly lock?: string | null
  /** What it still needs, as for a button. */
  readonly needs?: string | null
}

export function IconButton(props: IconButtonProps) {
  const { icon, label, onPress, color = 'textMuted', lock = null, needs = null } = props
  const reason = lock ?? needs
  const toast = useToast()
  return (
    <Pressable
      role="button"
      aria-label={label}
      {...(reason !== null && { 'aria-disabled': true, accessibilityHint: reason })}
      onPress={
        reason === null ? onPress : () => toast.show({ text: reason, icon: lock === null ? 'warn' : 'lock' })
      }
      style={styles.button}
    >
      <Icon name={lock === null ? icon : 'lock'} color={reason === null ? color : 'textMuted'} />
    </Pressable>
  )
}

const styles = StyleSheet.create({
  button: {
    width: TARGET,
    height: TARGET,
    borderRadius: radius.full,
    alignItems: 'center',
    justifyContent: 'center',
  },
})
