import { StyleSheet, View } from 'react-native'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon } from './icon.tsx'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'
import { useToast } from './toast.tsx'

export interface ToggleProps {
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
  readonly help?: string
  /** Why it cannot be used now. It stays where it is, with a lock, and says so when pressed. */
  readonly lock?: string | null
  /** What it still needs, as for a button. */
  readonly needs?: string | null
}

/** A switch that takes effect at once. The word beside it makes the state clear without colour. */
export function Toggle({ label, isOn, onChange, help, lock = null, needs = null }: ToggleProps) {
  const reason = lock ?? needs
  const { colors } = useTheme()
  const toast = useToast()
  return (
    <Pressable
      role="switch"
      aria-label={label}
      aria-checked={isOn}
      aria-disabled={reason !== null}
      accessibilityHint={reason ?? help}
      onPress={() => {
        if (reason === null) onChange(!isOn)
        else toast.show({ text: reason, icon: lock === null ? 'warn' : 'lock' })
      }}
      style={styles.toggle}
    >
      <View style={styles.words}>
        <Text>{label}</Text>
        {help !== undefined && (
          <Text variant="small" color="textMuted">
            {help}
          </Text>
        )}
      </View>
      {lock !== null && <Icon name="lock" size={16} color="textMuted" />}
      <Text variant="label" color="textMuted">
        {isOn ? 'On' : 'Off'}
      </Text>
      <View
        style={[
          styles.track,
          { borderColor: colors.lineStrong, backgroundColor: colors.surfaceSunken },
          isOn && { borderColor: colors.accent, backgroundColor: colors.accent },
        ]}
      >
        <View
          style={[
            styles.knob,
            { backgroundColor: isOn ? colors.onAccent : colors.lineStrong },
            isOn && styles.knobOn,
          ]}
        />
      </View>
    </Pressable>
  )
}

const styles = StyleSheet.create({
  toggle: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.m,
    borderRadius: radius.m,
    paddingVertical: space.s,
  },
  words: { flex: 1, minWidth: 0 },
  track: { width: 44, height: 26, borderRadius: radius.full, borderWidth: 1, padding: 3 },
  knob: { width: 18, height: 18, borderRadius: radius.full },
  knobOn: { marginLeft: 18 },
})
