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
import { type LayoutChangeEvent, StyleSheet, View } from 'react-native'
import { useSafeAreaInsets } from 'react-native-safe-area-context'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'

const SHOWN_MS = 8_000
const ABOVE_TABS = space.xxxl + space.xxl

export interface Toast {
  readonly text: string
  readonly icon?: IconName
  /** The true inverse of what was done, sent to the server like any other call. */
  readonly undo?: () => void
  /** Where it leads, for news such as an alert. */
  readonly open?: () => void
}

interface Toaster {
  show(toast: Toast): void
}

interface Toasts {
  readonly toast: Toast | null
  readonly close: () => void
  /** Hosts that can show a toast, the topmost last. */
  readonly places: readonly string[]
  readonly enter: (place: string) => () => void
  /** Heights of the bars at the bottom of the screen. */
  readonly bars: readonly Bar[]
  readonly standOn: (bar: Bar) => () => void
}

interface Bar {
  readonly height: number
  /** Of the window: bars of the page stand on it. */
  readonly isLowest: boolean
}

const ToastContext = createContext<Toaster>({ show: () => {} })
const ToastsContext = createContext<Toasts>({
  ...{ toast: null, close: () => {} },
  ...{ places: [], enter: () => () => {}, bars: [], standOn: () => () => {} },
})

export function useToast(): Toaster {
  return useContext(ToastContext)
}

/** For bars at the bottom of a screen, and for the one below them all: toasts appear above them while they are visible. */
export function useToastsAbove(isInSight: boolean, isLowest = false): (event: LayoutChangeEvent) => void {
  const { standOn } = useContext(ToastsContext)
  const [height, setHeight] = useState(0)
  useEffect(
    () => (isInSight ? standOn({ height, isLowest }) : undefined),
    [isInSight, standOn, height, isLowest],
  )
  return ({ nativeEvent }) => setHeight(nativeEvent.layout.height)
}

/**
 * An alert does not replace a toast with Undo, which would put another button under the thumb: it waits. Every
 * other new toast is shown at once, since it responds to the latest press.
 */
function withNext([shown, ...waiting]: readonly Toast[], next: Toast): readonly Toast[] {
  if (!shown?.undo || !next.open) return [next, ...waiting]
  // The same text is shown only once.
  return [shown, ...waiting.filter(({ text }) => text !== next.text), next]
}

/** One toast at a time, for eight seconds: long enough to read it and to undo. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [[toast = null], setToasts] = useState<readonly Toast[]>([])
  const [places, enter] = useEntries<string>()
  const [bars, standOn] = useEntries<Bar>()
  const close = useCallback(() => setToasts(([, ...waiting]) => waiting), [])
  const toaster = useMemo(
    () => ({ show: (next: Toast) => setToasts((before) => withNext(before, { ...next })) }),
    [],
  )
  const toasts = useMemo(
    () => ({ toast, close, places, enter, bars, standOn }),
    [toast, close, places, enter, bars, standOn],
  )
  useEffect(() => {
    if (!toast) return
    const timer = setTimeout(close, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [toast, close])
  return (
    <ToastContext.Provider value={toaster}>
      <ToastsContext.Provider value={toasts}>
        {children}
        <Place isShown={places.length === 0} isInSheet={false} />
      </ToastsContext.Provider>
    </ToastContext.Provider>
  )
}

/** The current entries, and a function that adds one and returns its removal. */
function useEntries<Entry>() {
  const [entries, setEntries] = useState<readonly Entry[]>([])
  const enter = useCallback((entry: Entry) => {
    setEntries((before) => [...before, entry])
    return () => setEntries((before) => before.filter((each) => each !== entry))
  }, [])
  return [entries, enter] as const
}

/** Shows toasts inside an open sheet, which covers the rest of the screen. */
export function ToastInSheet() {
  const id = useId()
  const { places, enter } = useContext(ToastsContext)
  useEffect(() => enter(id), [enter, id])
  return <Place isShown={places.at(-1) === id} isInSheet />
}

/** Bars of a list and of the detail beside it do not add up. */
const heightOf = (bars: readonly Bar[], lowest: boolean) =>
  Math.max(0, ...bars.filter(({ isLowest }) => isLowest === lowest).map(({ height }) => height))

function Place({ isShown, isInSheet }: { readonly isShown: boolean; readonly isInSheet: boolean }) {
  const insets = useSafeAreaInsets()
  const { toast, close, bars } = useContext(ToastsContext)
  const bottom = Math.max(insets.bottom + ABOVE_TABS, heightOf(bars, false) + heightOf(bars, true))
  // On top in a sheet, which has its buttons at the bottom.
  const where = isInSheet ? { top: insets.top } : { bottom }
  return (
    <View aria-live="polite" style={[styles.place, where]}>
      {isShown && toast && <Shown toast={toast} onClose={close} />}
    </View>
  )
}

function Shown({ toast, onClose }: { readonly toast: Toast; readonly onClose: () => void }) {
  const { colors } = useTheme()
  const act = toast.undo ?? toast.open
  const label = toast.undo ? 'Undo' : 'Open'
  return (
    <View style={[styles.toast, { backgroundColor: colors.text }]}>
      {toast.icon && <Icon name={toast.icon} size={18} color="surface" />}
      <Text variant="label" color="surface" numberOfLines={3} style={styles.text}>
        {toast.text}
      </Text>
      {act && (
        <Pressable
          // A new element for each button, so that a press that began on one cannot end on the next.
          key={label}
          role="button"
          isFilled
          aria-label={label}
          onPress={() => {
            onClose()
            act()
          }}
          style={styles.button}
        >
          <Text variant="heading" color="surface" style={styles.act}>
            {label}
          </Text>
        </Pressable>
      )}
      {!toast.undo && (
        <Pressable role="button" isFilled aria-label="Close" onPress={onClose} style={styles.button}>
          <Icon name="close" size={18} color="surface" />
        </Pressable>
      )}
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
    maxWidth: '100%',
    boxShadow: '0 8px 28px rgba(0, 0, 0, 0.22)',
  },
  // However long the text, the button beside it stays on the screen.
  text: { flexShrink: 1, minWidth: 0, maxWidth: 400, marginVertical: space.m },
  button: {
    alignItems: 'center',
    justifyContent: 'center',
    borderRadius: radius.m,
    paddingHorizontal: space.m,
  },
  act: { textDecorationLine: 'underline' },
})
