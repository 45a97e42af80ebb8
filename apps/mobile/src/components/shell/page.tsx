import { useRouter } from 'expo-router'
import type { ReactNode } from 'react'
import { RefreshControl, ScrollView, StyleSheet, View } from 'react-native'
import { breakable } from '../../lib/breakable.ts'
import { useFontScale } from '../../lib/font-scale.ts'
import { usePageTitle } from '../../lib/page-title.ts'
import { space } from '../../theme/tokens.ts'
import { IconButton } from '../ui/icon-button.tsx'
import { Text } from '../ui/text.tsx'
import { useIsBesideList } from './split.tsx'
import { useIsInMenu } from './use-is-in-menu.ts'

/** Where back leads when the page was opened by a link. */
type Parent =
  | '/'
  | '/failures'
  | '/queues'
  | '/alerts'
  | '/jobs'
  | '/bulk-operations'
  | '/settings'
  | '/topics'
  | '/workers'

export interface PageProps {
  readonly title: string
  readonly children: ReactNode
  /** Shows a back button. Absent for tabs. */
  readonly parent?: Parent
  /** A word beside the title: a state, a count. */
  readonly badge?: ReactNode
  /** Buttons at the end of the title's row. */
  readonly actions?: ReactNode
  /** The page's actions; stays visible at the bottom. */
  readonly bar?: ReactNode
  readonly onRefresh?: () => void
  /** The page has a list that scrolls by itself. */
  readonly isList?: boolean
  /** Leaves the window's title alone, as a list beside its detail does. */
  readonly isAside?: boolean
}

/** A word that would break in the middle on a phone, such as an error class: the title is then set smaller. */
const hasLongWord = (title: string): boolean => /[^\s_.:/-]{16}/.test(title)

/** Buttons leave a title this much of its row, and more of it for large text, where a short word would break. */
const MIN_TITLE = 160
const MAX_TITLE = 240

/** The frame of every screen: title, content and actions. */
export function Page(props: PageProps) {
  const { title, children, parent, badge, actions, bar, onRefresh, isList = false, isAside = false } = props
  const isBesideList = useIsBesideList()
  const isInMenu = useIsInMenu()
  const scale = useFontScale()
  usePageTitle(isAside ? null : title)
  const head = (
    <View style={styles.head}>
      {parent && !isBesideList && !isInMenu && !isAside && <Back parent={parent} />}
      <View style={[styles.title, { minWidth: Math.min(MAX_TITLE, MIN_TITLE * Math.max(1, scale)) }]}>
        <Text variant={hasLongWord(title) ? 'title' : 'display'} level={1} style={styles.words}>
          {breakable(title)}
        </Text>
        {badge}
      </View>
      {actions}
    </View>
  )
  return (
    <View style={styles.page} role={isAside ? 'complementary' : 'main'}>
      {isList ? (
        <View style={styles.fill}>
          {head}
          {children}
        </View>
      ) : (
        <ScrollView
          style={styles.fill}
          contentContainerStyle={styles.content}
          // Without the way back nothing in it may take the focus, and the keyboard could not scroll it.
          {...(parent && (isInMenu || isAside) && { tabIndex: 0 as const })}
          {...(onRefresh && { refreshControl: <RefreshControl refreshing={false} onRefresh={onRefresh} /> })}
        >
          {head}
          {children}
        </ScrollView>
      )}
      {bar}
    </View>
  )
}

function Back({ parent }: { readonly parent: Parent }) {
  const router = useRouter()
  const onPress = () => (router.canGoBack() ? router.back() : router.dismissTo(parent))
  return (
    <View style={styles.back}>
      <IconButton icon="back" label="Back" color="text" onPress={onPress} />
    </View>
  )
}

const styles = StyleSheet.create({
  page: { flex: 1 },
  fill: { flex: 1 },
  content: { paddingBottom: space.xxxl },
  head: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    // The title has one place, with and without buttons beside it.
    alignContent: 'center',
    gap: space.s,
    paddingHorizontal: space.l,
    paddingTop: space.m,
    paddingBottom: space.m,
    minHeight: 72,
  },
  // The arrow is above the text of the page, and beside the first line of a long title.
  back: { alignSelf: 'flex-start', marginLeft: -space.m },
  title: {
    flex: 1,
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: space.m,
  },
  // A long name wraps rather than being cut off.
  words: { flexShrink: 1, minWidth: 0, maxWidth: '100%' },
})
