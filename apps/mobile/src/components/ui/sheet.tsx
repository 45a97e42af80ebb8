import type { ReactNode } from 'react'
import { Modal, Pressable, ScrollView, StyleSheet, View } from 'react-native'
import { useSafeAreaInsets } from 'react-native-safe-area-context'
import { useBack } from '../../lib/use-back.ts'
import { useDialogFocus } from '../../lib/use-dialog-focus.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useReducedMotion } from '../../theme/use-reduced-motion.ts'
import { useIsWide, useTheme } from '../../theme/use-theme.ts'
import { IconButton } from './icon-button.tsx'
import { Text } from './text.tsx'
import { ToastInSheet } from './toast.tsx'

export interface SheetProps {
  readonly isOpen: boolean
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  /** Stays in sight below what scrolls. */
  readonly footer?: ReactNode
}

/** From below on a phone, in the middle where there is room. Esc and the back button close it, focus stays inside and returns. */
export function Sheet({ isOpen, title, onClose, children, footer }: SheetProps) {
  const { colors } = useTheme()
  const isWide = useIsWide()
  useBack(isOpen, onClose)
  const box = useDialogFocus(isOpen)
  const insets = useSafeAreaInsets()
  const animation = useReducedMotion() ? 'none' : isWide ? 'fade' : 'slide'
  if (!isOpen) return null
  return (
    <Modal visible transparent animationType={animation} onRequestClose={onClose} aria-label={title}>
      <View style={[styles.place, isWide && styles.middle]}>
        {/* Hidden from screen readers and the keyboard, which have the close button. */}
        <Pressable
          style={[StyleSheet.absoluteFill, { backgroundColor: colors.scrim }]}
          onPress={onClose}
          aria-hidden
          tabIndex={-1}
        />
        <View
          ref={box}
          style={[
            styles.sheet,
            { backgroundColor: colors.surfaceRaised, paddingBottom: insets.bottom + space.l },
            isWide && styles.dialog,
          ]}
        >
          <View style={styles.head}>
            <Text variant="title" level={2} style={styles.title}>
              {title}
            </Text>
            <IconButton icon="close" label="Close" onPress={onClose} />
          </View>
          <ScrollView style={styles.body} contentContainerStyle={styles.content}>
            {children}
          </ScrollView>
          {footer && <View style={styles.footer}>{footer}</View>}
        </View>
        <ToastInSheet />
      </View>
    </Modal>
  )
}

const styles = StyleSheet.create({
  place: { flex: 1, justifyContent: 'flex-end' },
  middle: { justifyContent: 'center', alignItems: 'center' },
  sheet: { borderTopLeftRadius: radius.l, borderTopRightRadius: radius.l, maxHeight: '88%' },
  dialog: { borderRadius: radius.l, width: 480, maxWidth: '92%' },
  head: {
    flexDirection: 'row',
    alignItems: 'center',
    paddingLeft: space.xl,
    paddingRight: space.s,
    paddingTop: space.s,
  },
  // For a title of two lines; the button beside it is higher than one.
  title: { flex: 1, minWidth: 0, paddingVertical: space.s },
  body: { flexGrow: 0 },
  content: { paddingHorizontal: space.xl, paddingVertical: space.s, gap: space.m },
  footer: { paddingHorizontal: space.xl, paddingTop: space.m, gap: space.s },
})
