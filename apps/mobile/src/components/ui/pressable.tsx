import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { Pressable as NativePressable, Platform, type PressableProps, StyleSheet, View } from 'react-native'
import { type Palette, TARGET } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Text } from './text.tsx'

const IS_WEB = Platform.OS === 'web'

export interface Props extends Omit<PressableProps, 'style' | 'children'> {
  readonly style?: object | undefined
  /** Keeps its own background colour when hovered or pressed. */
  readonly isFilled?: boolean
  /** It is selected, or what one is at: it keeps its colour under the pointer. */
  readonly isOn?: boolean
  /** What a screen reader says, in one sentence, where that differs from the visible text. */
  readonly spoken?: string
  readonly children?: ReactNode
}

/** The base of everything pressable: large enough to hit, with hover and focus styles. */
export function Pressable({ style, isFilled = false, isOn = false, spoken, children, ...rest }: Props) {
  const { colors } = useTheme()
  const [isFocused, setFocused] = useState(false)
  const outline = isFocused && IS_WEB && { outlineColor: colors.accent, ...FOCUS }
  return (
    <NativePressable
      {...rest}
      {...(spoken !== undefined && !IS_WEB && { 'aria-label': spoken })}
      ref={useLocked(rest)}
      onFocus={(event) => {
        // Only keyboard users need to see the focus.
        setFocused(isByKey(event))
        rest.onFocus?.(event)
      }}
      onBlur={(event) => {
        setFocused(false)
        rest.onBlur?.(event)
      }}
      style={(state) => [styles.target, style, touchOf(state, colors, { isFilled, isOn }), outline]}
    >
      {spoken !== undefined && IS_WEB ? <Named name={spoken}>{children}</Named> : children}
    </NativePressable>
  )
}

/** Hidden text rather than a label: voice control could not find a label that differs from the visible text. */
function Named({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <Text style={styles.unseen}>{name}</Text>
      <View aria-hidden style={styles.seen}>
        {children}
      </View>
    </>
  )
}

/**
 * react-native-web marks an element as disabled only by making it impossible to press, and ignores hints. So the
 * attributes are set on the page's element: it can still be pressed, to learn why it is locked.
 */
function useLocked({ 'aria-disabled': isLocked, accessibilityHint: hint }: PressableProps) {
  const ref = useRef<View>(null)
  // Before painting: otherwise a locked element would look usable for a moment.
  useLayoutEffect(() => {
    if (!IS_WEB) return
    tell(ref, 'aria-disabled', isLocked ? 'true' : null)
    tell(ref, 'aria-description', hint ?? null)
  }, [isLocked, hint])
  return ref
}

function tell(ref: RefObject<unknown>, name: string, value: string | null): void {
  const element = ref.current as Element | null
  if (value === null) element?.removeAttribute(name)
  else element?.setAttribute(name, value)
}

/** A pointer that only passes shows less than one that presses. */
function touchOf(
  state: { readonly pressed: boolean },
  colors: Palette,
  { isFilled, isOn }: { readonly isFilled: boolean; readonly isOn: boolean },
): object | false {
  const isHovered = 'hovered' in state && state.hovered === true
  if (isFilled) return (state.pressed || isHovered) && styles.touched
  if (state.pressed) return { backgroundColor: colors.surfacePressed }
  return isHovered && !isOn && { backgroundColor: colors.surfaceHovered }
}

function isByKey(event: unknown): boolean {
  const { target } = event as { target?: { matches?: (selector: string) => boolean } }
  return target?.matches?.(':focus-visible') ?? false
}

const FOCUS = { outlineStyle: 'solid', outlineWidth: 2, outlineOffset: 2 } as const

const styles = StyleSheet.create({
  target: { minHeight: TARGET, minWidth: TARGET },
  touched: { opacity: 0.9 },
  unseen: { position: 'absolute', width: 1, height: 1, overflow: 'hidden', opacity: 0 },
  seen: { display: 'contents' },
})
