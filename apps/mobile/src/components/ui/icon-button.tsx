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
}

export function IconButton({ icon, label, onPress, color = 'textMuted', lock = null }: IconButtonProps) {
  const toast = useToast()
  return (
    <Pressable
      role="button"
      aria-label={label}
      {...(lock !== null && { 'aria-disabled': true, accessibilityHint: lock })}
      onPress={lock === null ? onPress : () => toast.show({ text: lock, icon: 'lock' })}
      style={styles.button}
    >
      <Icon name={lock === null ? icon : 'lock'} color={color} />
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
