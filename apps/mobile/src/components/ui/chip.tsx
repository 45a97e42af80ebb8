import { useId, useState } from 'react'
import { ScrollView, StyleSheet, View } from 'react-native'
import Svg, { LinearGradient, Rect, Stop } from 'react-native-svg'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'
import { useToast } from './toast.tsx'

export interface ChipProps {
  readonly label: string
  readonly onPress: () => void
  /** Null: it is not switched on and off, its label says which of several states is in force. */
  readonly isOn?: boolean | null
  readonly icon?: IconName
  /** Shows a cross: pressing removes the filter. */
  readonly isRemovable?: boolean
  /** What a press does, where the label does not say it. */
  readonly hint?: string
  /** What it still needs before it can be used: it is grey, and says so when pressed. */
  readonly needs?: string | null
}

/** A filter that is on or off. */
export function Chip(props: ChipProps) {
  const { label, onPress, isOn = false, icon, isRemovable = false, hint, needs = null } = props
  const { colors } = useTheme()
  const toast = useToast()
  const [isHovered, setHovered] = useState(false)
  const ink = needs !== null ? 'textMuted' : isOn ? 'accent' : 'text'
  return (
    <Pressable
      role="button"
      {...(isOn !== null && { 'aria-pressed': isOn })}
      aria-label={isRemovable ? `Remove filter ${label}` : label}
      aria-disabled={needs !== null}
      accessibilityHint={needs ?? hint}
      onPress={needs === null ? onPress : () => toast.show({ text: needs, icon: 'warn' })}
      // Only the chip itself, which is lower than what can be pressed, shows the pointer.
      isFilled
      onHoverIn={() => setHovered(true)}
      onHoverOut={() => setHovered(false)}
      style={styles.target}
    >
      <View
        style={[
          styles.chip,
          { borderColor: colors.line, backgroundColor: colors.surfaceRaised },
          isHovered && { backgroundColor: colors.surfaceHovered },
          isOn && { borderColor: colors.accent, backgroundColor: colors.accentSoft },
        ]}
      >
        {icon && <Icon name={icon} size={16} color={ink} />}
        <Text variant="label" color={ink} style={styles.label}>
          {label}
        </Text>
        {isRemovable && <Icon name="close" size={14} color={ink} />}
      </View>
    </Pressable>
  )
}

export interface OrderChipProps<Order extends string> {
  /** The usual order and the other one, in words: "newest first". */
  readonly orders: readonly [Named<Order>, Named<Order>]
  readonly value: Order
  readonly onChange: (order: Order) => void
}

interface Named<Order> {
  readonly value: Order
  readonly words: string
}

/** Says in which order a list is, and turns it into the other one. */
export function OrderChip<Order extends string>({ orders, value, onChange }: OrderChipProps<Order>) {
  const [usual, other] = orders
  const [current, next] = value === other.value ? [other, usual] : [usual, other]
  return (
    <Chip
      label={`Order: ${current.words}`}
      icon="order"
      isOn={null}
      hint={`Changes to ${next.words}`}
      onPress={() => onChange(next.value)}
    />
  )
}

interface ChipsProps {
  readonly children: React.ReactNode
  /** All are in sight, in as many rows as they need. */
  readonly wraps?: boolean
}

/** In a row that scrolls sideways rather than wrapping, unless there is room for more rows. */
export function Chips({ children, wraps = false }: ChipsProps) {
  if (wraps) return <View style={[styles.row, styles.wrapped]}>{children}</View>
  return <ScrolledChips>{children}</ScrolledChips>
}

/** At a side where more follow, they fade out: a chip that is cut at the edge looks like a mistake. */
function ScrolledChips({ children }: Pick<ChipsProps, 'children'>) {
  const [width, setWidth] = useState(0)
  const [whole, setWhole] = useState(0)
  const [at, setAt] = useState(0)
  return (
    <View>
      <ScrollView
        horizontal
        showsHorizontalScrollIndicator={false}
        style={styles.scroll}
        contentContainerStyle={styles.row}
        testID="chips"
        onLayout={({ nativeEvent }) => setWidth(nativeEvent.layout.width)}
        onContentSizeChange={setWhole}
        onScroll={({ nativeEvent }) => setAt(nativeEvent.contentOffset.x)}
        scrollEventThrottle={100}
      >
        {children}
      </ScrollView>
      {at > EDGE && <Fade side="left" />}
      {whole - width - at > EDGE && <Fade side="right" />}
    </View>
  )
}

/** How little of the row may be out of sight without being told: its padding. */
const EDGE = space.m

function Fade({ side }: { readonly side: 'left' | 'right' }) {
  const { colors } = useTheme()
  // Its own: a browser does not find one in a screen that is hidden.
  const id = useId()
  const stops = side === 'left' ? [1, 0] : [0, 1]
  return (
    <View style={[styles.fade, side === 'left' ? styles.left : styles.right]} testID={`more-${side}`}>
      <Svg width="100%" height="100%">
        <LinearGradient id={id} x1="0" x2="1" y1="0" y2="0">
          {stops.map((opacity, offset) => (
            <Stop key={opacity} offset={offset} stopColor={colors.surface} stopOpacity={opacity} />
          ))}
        </LinearGradient>
        <Rect width="100%" height="100%" fill={`url(#${id})`} />
      </Svg>
    </View>
  )
}

const styles = StyleSheet.create({
  target: { justifyContent: 'center', borderRadius: radius.full, maxWidth: '100%' },
  label: { flexShrink: 1, minWidth: 0 },
  chip: {
    flexDirection: 'row',
    alignItems: 'center',
    justifyContent: 'center',
    gap: 6,
    minHeight: 36,
    borderRadius: radius.full,
    borderWidth: 1,
    paddingHorizontal: space.m,
  },
  scroll: { flexGrow: 0 },
  fade: { position: 'absolute', top: 0, bottom: 0, width: 56, pointerEvents: 'none' },
  left: { left: 0 },
  right: { right: 0 },
  row: { gap: space.s, paddingHorizontal: space.l },
  wrapped: { flexDirection: 'row', flexWrap: 'wrap', rowGap: 0 },
})
