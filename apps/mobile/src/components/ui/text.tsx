import { Text as NativeText, type TextProps as NativeTextProps, Platform, StyleSheet } from 'react-native'
import { inOrder } from '../../lib/breakable.ts'
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
      {ordered(children)}
    </NativeText>
  )
}

function ordered(children: TextProps['children']): TextProps['children'] {
  if (typeof children === 'string') return inOrder(children)
  const isText = Array.isArray(children) && children.every((part) => typeof part === 'string')
  return isText ? inOrder(children.join('')) : children
}

const styles = StyleSheet.create({
  tabular: { fontVariant: ['tabular-nums'] },
  code: { fontFamily: Platform.select({ web: MONO, ios: 'Menlo', default: 'monospace' }) },
  strong: { fontWeight: '600' },
  center: { textAlign: 'center' },
})
