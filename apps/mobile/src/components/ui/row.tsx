import type { ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { useFontScale } from '../../lib/font-scale.ts'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon } from './icon.tsx'
import { Pressable } from './pressable.tsx'

export interface RowProps {
  readonly children: ReactNode
  /** The whole row in one sentence, for screen readers. */
  readonly label: string
  readonly onPress?: () => void
  readonly onLongPress?: () => void
  readonly leading?: ReactNode
  readonly trailing?: ReactNode
  /** Select mode: null where there is none. */
  readonly isSelected?: boolean | null
  /** The row that the keyboard is at, or whose detail is open beside. */
  readonly isCurrent?: boolean
  /** Where all rows of a list are of one height. */
  readonly height?: number | undefined
}

/** The least width for a name. With less, the content at the end of the row moves below it. */
const ROOM = 130

/** Two lines in a list, with a fine line below. */
export function Row(props: RowProps) {
  const {
    children,
    label,
    onPress,
    onLongPress,
    leading,
    trailing,
    isSelected = null,
    isCurrent = false,
    height,
  } = props
  const { colors } = useTheme()
  const flexBasis = ROOM * useFontScale()
  const isSelectable = isSelected !== null
  const isOn = isCurrent || isSelected === true
  const content = (
    <View style={styles.content}>
      {isSelectable && <Box isChecked={isSelected} />}
      {leading}
      <View style={styles.words}>
        <View style={[styles.middle, { flexBasis }]}>{children}</View>
        {trailing && <View style={styles.trailing}>{trailing}</View>}
      </View>
      {onPress && !isSelectable && <Icon name="open" size={16} color="lineStrong" />}
    </View>
  )
  const face = [
    styles.row,
    { borderBottomColor: colors.line },
    height !== undefined && { height },
    isOn && { backgroundColor: colors.surfacePressed, boxShadow: `inset 3px 0 0 ${colors.accent}` },
  ]
  if (!onPress)
    return (
      <View style={face} accessible aria-label={label}>
        {content}
      </View>
    )
  return (
    <Pressable
      role={isSelectable ? 'checkbox' : 'link'}
      spoken={label}
      {...(isSelectable && { 'aria-checked': isSelected })}
      {...(isCurrent && { 'aria-current': 'true' as const })}
      isOn={isOn}
      onPress={onPress}
      {...(onLongPress && { onLongPress })}
      style={face}
    >
      {content}
    </Pressable>
  )
}

export function Box({ isChecked }: { readonly isChecked: boolean }) {
  const { colors } = useTheme()
  return (
    <View
      style={[
        styles.box,
        { borderColor: colors.lineStrong },
        isChecked && { backgroundColor: colors.accent, borderColor: colors.accent },
      ]}
    >
      {isChecked && <Icon name="check" size={16} color="onAccent" />}
    </View>
  )
}

const styles = StyleSheet.create({
  row: { borderBottomWidth: StyleSheet.hairlineWidth, minHeight: 64, justifyContent: 'center' },
  content: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.m,
    paddingHorizontal: space.l,
    paddingVertical: space.m,
  },
  words: { flex: 1, minWidth: 0, flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.m },
  middle: { flexGrow: 1, flexShrink: 1, minWidth: 0, gap: 2 },
  trailing: { maxWidth: '100%', marginLeft: 'auto' },
  box: {
    width: 24,
    height: 24,
    borderRadius: 6,
    borderWidth: 1.5,
    alignItems: 'center',
    justifyContent: 'center',
  },
})
