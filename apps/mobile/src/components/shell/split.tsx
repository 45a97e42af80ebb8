import {
  createContext,
  type Dispatch,
  type ReactNode,
  type SetStateAction,
  useContext,
  useEffect,
  useState,
} from 'react'
import { StyleSheet, useWindowDimensions, View } from 'react-native'
import { useIsWide, useTheme } from '../../theme/use-theme.ts'
import { EmptyState } from '../ui/empty-state.tsx'

export interface SplitProps {
  readonly list: ReactNode
  /** The open detail. Without one, the list is shown alone, or with a hint beside it. */
  readonly children?: ReactNode
  readonly hint: string
  /** The list's rows open no detail, so it takes the full width. */
  readonly isAlone?: boolean
}

/** A window from here on has room for a wider list. */
const LARGE = 1_800
/** Up to here a detail of the list's usual width would be narrower than the list. */
const SMALL = 1_200

const BesideList = createContext(false)

/** A detail whose list is in sight needs no way back to it. */
export function useIsBesideList(): boolean {
  return useContext(BesideList)
}

const EmptyList = createContext<Dispatch<SetStateAction<number>> | null>(null)

/** Rendered by a list that has nothing to choose from: it takes the whole width, unless a detail is open. */
export function NothingToChoose() {
  const setEmptied = useContext(EmptyList)
  useEffect(() => {
    setEmptied?.((before) => before + 1)
    return () => setEmptied?.((before) => before - 1)
  }, [setEmptied])
  return null
}

/** A list and its detail side by side where there is room; otherwise the one that the address names. */
export function Split({ list, children, hint, isAlone = false }: SplitProps) {
  const { colors } = useTheme()
  const { width } = useWindowDimensions()
  const [emptied, setEmptied] = useState(0)
  if (!useIsWide()) return children ?? list
  const size = width >= LARGE ? styles.large : width < SMALL && styles.small
  // A pane with nothing in it, beside a list with nothing in it, is only a line through an empty page.
  const isWhole = isAlone || (!children && emptied > 0)
  const beside = [styles.list, size, { borderRightColor: colors.line }]
  return (
    <View style={styles.split}>
      <View style={isWhole ? styles.detail : beside}>
        <EmptyList.Provider value={setEmptied}>{list}</EmptyList.Provider>
      </View>
      {!isWhole && (
        <BesideList.Provider value={true}>
          <View style={[styles.detail, !children && styles.hint]} testID="beside">
            {children ?? <EmptyState icon="open" title={hint} />}
          </View>
        </BesideList.Provider>
      )}
    </View>
  )
}

const styles = StyleSheet.create({
  split: { flex: 1, flexDirection: 'row' },
  list: { width: 420, borderRightWidth: StyleSheet.hairlineWidth },
  large: { width: 560 },
  small: { width: 360 },
  detail: { flex: 1, minWidth: 0 },
  hint: { justifyContent: 'center' },
})
