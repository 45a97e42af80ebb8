import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useId,
  useMemo,
  useState,
} from 'react'
import { StyleSheet, View } from 'react-native'
import { useSafeAreaInsets } from 'react-native-safe-area-context'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'

const SHOWN_MS = 8_000

export interface Toast {
  readonly text: string
  readonly icon?: IconName
  /** The true inverse of what was done, sent to the server like any other call. */
  readonly undo?: () => void
  /** Where it leads, for what one is told rather than did. */
  readonly open?: () => void
}

interface Toaster {
  show(toast: Toast): void
}

interface Toasts {
  readonly toast: Toast | null
  readonly close: () => void
  /** Where one can be shown, the topmost last. */
  readonly places: readonly string[]
  readonly enter: (place: string) => () => void
}

const ToastContext = createContext<Toaster>({ show: () => {} })
const ToastsContext = createContext<Toasts>({
  ...{ toast: null, close: () => {}, places: [], enter: () => () => {} },
})

export function useToast(): Toaster {
  return useContext(ToastContext)
}

/** One at a time, for eight seconds: long enough to read and to regret. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toast, setToast] = useState<Toast | null>(null)
  const [places, setPlaces] = useState<readonly string[]>([])
  const toaster = useMemo(() => ({ show: (next: Toast) => setToast({ ...next }) }), [])
  const enter = useCallback((place: string) => {
    setPlaces((before) => [...before, place])
    return () => setPlaces((before) => before.filter((each) => each !== place))
  }, [])
  const toasts = useMemo(
    () => ({ toast, close: () => setToast(null), places, enter }),
    [toast, places, enter],
  )
  useEffect(() => {
    if (!toast) return
    const timer = setTimeout(() => setToast(null), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [toast])
  return (
    <ToastContext.Provider value={toaster}>
      <ToastsContext.Provider value={toasts}>
        {children}
        <Place isShown={places.length === 0} isInSheet={false} />
      </ToastsContext.Provider>
    </ToastContext.Provider>
  )
}

/** Within a sheet, which lies over everything else: what is said while it is open is said there. */
export function ToastInSheet() {
  const id = useId()
  const { places, enter } = useContext(ToastsContext)
  useEffect(() => enter(id), [enter, id])
  return <Place isShown={places.at(-1) === id} isInSheet />
}

function Place({ isShown, isInSheet }: { readonly isShown: boolean; readonly isInSheet: boolean }) {
  const insets = useSafeAreaInsets()
  const { toast, close } = useContext(ToastsContext)
  // A sheet has its buttons below.
  const where = isInSheet ? { top: insets.top } : { bottom: insets.bottom + space.xxxl + space.xxl }
  return (
    <View aria-live="polite" style={[styles.place, where]}>
      {isShown && toast && <Shown toast={toast} onClose={close} />}
    </View>
  )
}

function Shown({ toast, onClose }: { readonly toast: Toast; readonly onClose: () => void }) {
  const { colors } = useTheme()
  const action = toast.undo ? 'Undo' : toast.open && 'Open'
  return (
    <View style={[styles.toast, { backgroundColor: colors.text }]}>
      {toast.icon && <Icon name={toast.icon} size={18} color="surface" />}
      <Text variant="label" color="surface" style={styles.text}>
        {toast.text}
      </Text>
      <Pressable
        role="button"
        aria-label={action ?? 'Close'}
        onPress={() => {
          onClose()
          toast.undo?.()
          toast.open?.()
        }}
        style={styles.action}
      >
        {action ? (
          <Text variant="heading" color="surface" style={styles.undo}>
            {action}
          </Text>
        ) : (
          <Icon name="close" size={18} color="surface" />
        )}
      </Pressable>
    </View>
  )
}

const styles = StyleSheet.create({
  place: {
    position: 'absolute',
    left: 0,
    right: 0,
    alignItems: 'center',
    pointerEvents: 'box-none',
    padding: space.l,
  },
  toast: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.m,
    borderRadius: radius.m,
    paddingLeft: space.l,
    maxWidth: 520,
    boxShadow: '0 8px 28px rgba(0, 0, 0, 0.22)',
  },
  text: { flexShrink: 1, paddingVertical: space.m },
  action: {
    alignItems: 'center',
    justifyContent: 'center',
    borderRadius: radius.m,
    paddingHorizontal: space.m,
  },
  undo: { textDecorationLine: 'underline' },
})
