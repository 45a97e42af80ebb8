import { usePathname, useRouter } from 'expo-router'
import type { ReactNode } from 'react'
import { ScrollView, StyleSheet, useWindowDimensions, View } from 'react-native'
import { useSafeAreaInsets } from 'react-native-safe-area-context'
import { RunningBar } from '../../features/bulk-operations/running-bar.tsx'
import { Notifications } from '../../features/notifications/notifications.tsx'
import { useIsOffline } from '../../lib/connection-provider.tsx'
import { useFontScale } from '../../lib/font-scale.ts'
import { number } from '../../lib/format.ts'
import { useSessionState } from '../../lib/session.ts'
import { useHealth } from '../../lib/use-health.ts'
import { textSize } from '../../theme/text-size.ts'
import { radius, space, toneOf, typeScale } from '../../theme/tokens.ts'
import { useIsWide, useTheme } from '../../theme/use-theme.ts'
import { Icon } from '../ui/icon.tsx'
import { IconButton } from '../ui/icon-button.tsx'
import { Mark } from '../ui/mark.tsx'
import { Pressable } from '../ui/pressable.tsx'
import { Text } from '../ui/text.tsx'
import { useToastsAbove } from '../ui/toast.tsx'
import { ConnectionWord } from './connection-word.tsx'
import { type Destination, isWithin, MAIN, MORE, OTHERS, QUESTIONS } from './destinations.ts'
import { EnvironmentBadge } from './environment-badge.tsx'
import { OfflineBanner } from './offline-banner.tsx'
import { PaletteButton, Shortcuts } from './shortcuts.tsx'

const ALONE = ['/sign-in', '/pair']
const BAR = [...MAIN, OTHERS]
const MAX_TAB_SCALE = 1.15
/** Below this height the entries of the rail stand closer, so that all are in sight. */
const LOW = 860

/** The frame around every screen: a rail where there is room, bars on a phone. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const { colors } = useTheme()
  const { status } = useSessionState()
  const pathname = usePathname()
  const isWide = useIsWide()
  const insets = useSafeAreaInsets()
  const isAlone = status !== 'signed-in' || ALONE.includes(pathname)
  const isOffline = useIsOffline()
  const hasBar = BAR.some(({ href }) => href === pathname)
  return (
    <View
      style={[
        styles.shell,
        isWide && styles.row,
        { backgroundColor: colors.surface, paddingTop: insets.top },
      ]}
    >
      {!isAlone && (isWide ? <Rail /> : <TopBar />)}
      <View style={styles.content}>
        {!isAlone && <OfflineBanner />}
        {!isAlone && <RunningBar />}
        <View style={[styles.content, !isAlone && isOffline && styles.frozen]}>{children}</View>
      </View>
      {!isAlone && !isWide && hasBar && <TabBar />}
      {status === 'signed-in' && <Notifications />}
      {!isAlone && <Shortcuts />}
    </View>
  )
}

function TopBar() {
  const router = useRouter()
  return (
    <View style={styles.top} role="banner">
      <EnvironmentBadge />
      <ConnectionWord />
      <View style={styles.content} />
      <IconButton icon="search" label="Search" onPress={() => router.navigate('/jobs')} />
    </View>
  )
}

function TabBar() {
  const { colors } = useTheme()
  const insets = useSafeAreaInsets()
  const onLayout = useToastsAbove(true, true)
  return (
    <View
      role="navigation"
      onLayout={onLayout}
      style={[
        styles.tabs,
        { borderTopColor: colors.line, backgroundColor: colors.surfaceRaised, paddingBottom: insets.bottom },
      ]}
    >
      {BAR.map((tab) => (
        <Goto key={tab.href} to={tab} isTab />
      ))}
    </View>
  )
}

function Rail() {
  const { colors } = useTheme()
  return (
    <View
      role="navigation"
      style={[styles.rail, { borderRightColor: colors.line, backgroundColor: colors.surfaceRaised }]}
    >
      <View style={styles.brand}>
        <Mark size={26} />
        <Text variant="title">Oncue</Text>
      </View>
      <View style={styles.where}>
        <EnvironmentBadge />
      </View>
      <PaletteButton />
      {/* On a low window these scroll, and what is below them stays in sight. */}
      <ScrollView style={styles.content} contentContainerStyle={styles.entries}>
        {MAIN.map((main) => (
          <Goto key={main.href} to={main} />
        ))}
        <View style={[styles.rule, { backgroundColor: colors.line }]} />
        {MORE.map((other) => (
          <Goto key={other.href} to={other} />
        ))}
      </ScrollView>
      <View style={[styles.rule, { backgroundColor: colors.line }]} />
      <ConnectionWord />
      <Goto to={{ href: '/settings', label: 'Settings', icon: 'settings' }} />
    </View>
  )
}

function Goto({ to, isTab = false }: { readonly to: Destination; readonly isTab?: boolean }) {
  const { colors } = useTheme()
  const router = useRouter()
  const isHere = isWithin(usePathname(), to.href)
  const counted = useCounted(to)
  const isOffline = useIsOffline()
  // Grey, as all that is only the last known.
  const neutral = toneOf(colors, 'neutral')
  const fresh = counted?.isBad
    ? { ink: colors.onBad, wash: colors.bad }
    : { ink: colors.onAccent, wash: colors.accent }
  const count = isOffline ? neutral : fresh
  const ink = isHere ? 'accent' : 'textMuted'
  const tabSize = useTabSize()
  const isLow = useWindowDimensions().height < LOW
  return (
    <Pressable
      role="link"
      spoken={counted ? `${to.label}, ${counted.words}${isOffline ? ' when last known' : ''}` : to.label}
      {...(isHere && { 'aria-current': 'page' as const })}
      isOn={isHere}
      onPress={() => router.navigate(to.href)}
      style={[
        isTab ? styles.tab : styles.item,
        isLow && !isTab && styles.low,
        isHere && !isTab && { backgroundColor: colors.accentSoft },
      ]}
    >
      <Icon name={to.icon} size={isTab ? 22 : 18} color={ink} />
      <Text
        variant={isTab ? 'overline' : 'label'}
        color={isHere ? 'accent' : isTab ? 'textMuted' : 'text'}
        {...(isTab && { numberOfLines: 1, style: [styles.tabLabel, tabSize] })}
      >
        {to.label}
      </Text>
      {counted && (
        <View
          style={[
            styles.count,
            isTab && (to === OTHERS ? styles.countOnLastTab : styles.countOnTab),
            { backgroundColor: count.wash },
          ]}
          testID={counted.isBad ? 'alert-count' : 'question-count'}
        >
          <Text variant="overline" style={[isTab && tabSize, { color: count.ink }]}>
            {number(counted.many)}
          </Text>
        </View>
      )}
    </Pressable>
  )
}

/** Six tabs share the width of a phone, so their labels and counts scale less than other text. */
function useTabSize() {
  const share = Math.min(1, MAX_TAB_SCALE / useFontScale())
  const { fontSize, lineHeight, letterSpacing } = typeScale.overline
  return {
    fontSize: textSize(fontSize * share),
    lineHeight: textSize(lineHeight * share),
    letterSpacing: textSize(letterSpacing * share),
  }
}

interface Counted {
  readonly many: number
  readonly words: string
  readonly isBad: boolean
}

/** What waits for people behind an entry; of those behind More, the open questions. */
function useCounted(to: Destination): Counted | null {
  const { data } = useHealth()
  const { firing = 0 } = data?.alerts ?? {}
  // An API of an older version does not count them.
  const { questions = 0 } = data ?? {}
  if (to.href === '/alerts' && firing > 0) return { many: firing, words: `${firing} firing`, isBad: true }
  const hasQuestions = to.href === QUESTIONS.href || to === OTHERS
  if (!hasQuestions || questions === 0) return null
  return {
    many: questions,
    words: number(questions) + (questions === 1 ? ' open question' : ' open questions'),
    isBad: false,
  }
}

const styles = StyleSheet.create({
  shell: { flex: 1 },
  row: { flexDirection: 'row' },
  content: { flex: 1, minWidth: 0 },
  // Grey: these values are as old as the server's last response. As a text: react-native-web does not know the list of filters.
  frozen: { opacity: 0.6, filter: 'grayscale(1)' },
  top: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.s,
    paddingLeft: space.l,
    paddingRight: space.xs,
  },
  tabs: { flexDirection: 'row', borderTopWidth: StyleSheet.hairlineWidth },
  tab: {
    flex: 1,
    minWidth: 0,
    alignItems: 'center',
    justifyContent: 'center',
    gap: 2,
    paddingVertical: space.s,
  },
  tabLabel: { maxWidth: '100%' },
  rail: { width: 212, padding: space.m, gap: 2, borderRightWidth: StyleSheet.hairlineWidth },
  entries: { gap: 2 },
  brand: { flexDirection: 'row', alignItems: 'center', gap: space.s, padding: space.s },
  where: { paddingHorizontal: space.s, paddingBottom: space.m },
  rule: { height: StyleSheet.hairlineWidth, marginVertical: space.s },
  item: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.m,
    paddingHorizontal: space.m,
    borderRadius: radius.m,
  },
  low: { minHeight: 36 },
  count: {
    minWidth: 20,
    borderRadius: radius.full,
    alignItems: 'center',
    paddingHorizontal: 6,
    marginLeft: 'auto',
  },
  // Nothing reaches beyond the edge of the screen.
  countOnLastTab: { position: 'absolute', top: 4, right: 2 },
  countOnTab: { position: 'absolute', top: 4, left: '52%', marginLeft: 4 },
})
