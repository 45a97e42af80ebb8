import { Text as NativeText, type TextProps as NativeTextProps, Platform, StyleSheet } from 'react-native'
import { MONO, type Palette, type TypeName, type } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'

export interface TextProps extends NativeTextProps {
  readonly variant?: TypeName
  readonly color?: keyof Palette
  /** Makes it a heading, for screen readers. */
  readonly level?: 1 | 2 | 3
  readonly center?: boolean
  readonly strong?: boolean
}

/** All text goes through this: themed, with digits of equal width. */
export function Text({
  variant = 'body',
  color = 'text',
  level,
  center,
  strong,
  style,
  children,
  ...rest
}: TextProps) {
  const { colors } = useTheme()
  const heading = level && ({ role: 'heading', 'aria-level': level } as const)
  return (
    <NativeText
      {...heading}
      {...rest}
      style={[
        type[variant],
        styles.tabular,
        { color: colors[color] },
        variant === 'code' && styles.code,
        strong && styles.strong,
        center && styles.center,
        style,
      ]}
    >
      {inOrder(children)}
    </NativeText>
  )
}

/** Characters that turn what follows them around: in a name or a question they could make it read as another one. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g

function inOrder(children: TextProps['children']): TextProps['children'] {
  if (typeof children === 'string') return children.replace(TURNING, '')
  const isText = Array.isArray(children) && children.every((part) => typeof part === 'string')
  return isText ? children.join('').replace(TURNING, '') : children
}

const styles = StyleSheet.create({
  tabular: { fontVariant: ['tabular-nums'] },
  code: { fontFamily: Platform.select({ web: MONO, ios: 'Menlo', default: 'monospace' }) },
  strong: { fontWeight: '600' },
  center: { textAlign: 'center' },
})
