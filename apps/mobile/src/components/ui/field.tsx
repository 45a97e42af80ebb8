import { type Ref, useId, useState } from 'react'
import { Platform, StyleSheet, TextInput, type TextInputProps, View } from 'react-native'
import { MONO, radius, space, TARGET, type } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Text } from './text.tsx'

export interface FieldProps extends Omit<TextInputProps, 'style' | 'onChange'> {
  readonly label: string
  readonly error?: string | null
  readonly help?: string
  readonly isCode?: boolean
  /** The label is for readers only, as in a search field. */
  readonly isBare?: boolean
  readonly ref?: Ref<TextInput>
}

export function Field({ label, error = null, help, isCode, isBare, ref, ...input }: FieldProps) {
  const { colors } = useTheme()
  const [isFocused, setFocused] = useState(false)
  const id = useId()
  return (
    <View style={styles.field}>
      {!isBare && (
        <Text variant="label" nativeID={id}>
          {label}
        </Text>
      )}
      <TextInput
        ref={ref}
        aria-label={label}
        autoCapitalize="none"
        autoCorrect={false}
        placeholderTextColor={colors.textMuted}
        {...(input.multiline && { rows: rowsOf(input.value) })}
        {...input}
        onFocus={(event) => {
          setFocused(true)
          input.onFocus?.(event)
        }}
        onBlur={(event) => {
          setFocused(false)
          input.onBlur?.(event)
        }}
        style={[
          type.body,
          styles.input,
          { color: colors.text, backgroundColor: colors.surfaceRaised, borderColor: colors.lineStrong },
          isCode && styles.code,
          isFocused && { borderColor: colors.accent, boxShadow: `0 0 0 1px ${colors.accent}` },
          error !== null && { borderColor: colors.bad },
        ]}
      />
      {(error ?? help) !== undefined && (
        <Text
          variant="small"
          color={error === null ? 'textMuted' : 'bad'}
          role={error === null ? undefined : 'alert'}
        >
          {error ?? help}
        </Text>
      )}
    </View>
  )
}

/** All lines are in sight, up to a point. */
const rowsOf = (text = '') => Math.min(12, Math.max(2, text.split('\n').length))

const styles = StyleSheet.create({
  field: { gap: 6 },
  input: {
    minHeight: TARGET,
    borderWidth: 1,
    borderRadius: radius.m,
    paddingHorizontal: space.m,
    paddingVertical: space.m,
    outlineStyle: 'solid',
    outlineWidth: 0,
  },
  code: { fontFamily: Platform.select({ web: MONO, ios: 'Menlo', default: 'monospace' }) },
})
