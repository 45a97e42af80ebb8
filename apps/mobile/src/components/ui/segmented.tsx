import { StyleSheet, View } from 'react-native'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'

export interface SegmentedProps<Value extends string> {
  readonly label: string
  readonly options: readonly { readonly value: Value; readonly label: string }[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** One of a few: 1 h / 24 h, Firing / Resolved. */
export function Segmented<Value extends string>({ label, options, value, onChange }: SegmentedProps<Value>) {
  const { colors } = useTheme()
  return (
    <View
      role="radiogroup"
      aria-label={label}
      style={[styles.track, { backgroundColor: colors.surfaceSunken }]}
    >
      {options.map((option) => {
        const isOn = option.value === value
        return (
          <Pressable
            key={option.value}
            role="radio"
            aria-checked={isOn}
            isOn={isOn}
            aria-label={option.label}
            onPress={() => onChange(option.value)}
            style={[
              styles.segment,
              isOn && { backgroundColor: colors.surfaceChosen, boxShadow: '0 1px 3px rgba(0, 0, 0, 0.12)' },
            ]}
          >
            <Text variant="label" color={isOn ? 'text' : 'textMuted'} center>
              {option.label}
            </Text>
          </Pressable>
        )
      })}
    </View>
  )
}

const styles = StyleSheet.create({
  track: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignSelf: 'flex-start',
    borderRadius: radius.m,
    padding: 2,
    maxWidth: '100%',
  },
  segment: {
    justifyContent: 'center',
    // Four of them fit into a phone's sheet and into the narrowest list.
    paddingHorizontal: space.m,
    borderRadius: radius.m - 2,
    maxWidth: '100%',
  },
})
