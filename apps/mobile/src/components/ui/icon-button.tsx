import { StyleSheet } from 'react-native'
import { type Palette, radius, TARGET } from '../../theme/tokens.ts'
import { Icon, type IconName } from './icon.tsx'
import { Pressable } from './pressable.tsx'

export interface IconButtonProps {
  readonly icon: IconName
  readonly label: string
  readonly onPress: () => void
  readonly color?: keyof Palette
}

export function IconButton({ icon, label, onPress, color = 'textMuted' }: IconButtonProps) {
  return (
    <Pressable role="button" aria-label={label} onPress={onPress} style={styles.button}>
      <Icon name={icon} color={color} />
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
