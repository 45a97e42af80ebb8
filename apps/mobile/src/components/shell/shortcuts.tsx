import { useRouter } from 'expo-router'
import { StyleSheet } from 'react-native'
import { EnqueueSheet, KeySheet, Palette } from '../../features/desk-parts.tsx'
import { PAGE_KEYS, PAGES } from '../../features/palette/commands.ts'
import type { Topic } from '../../features/topics/queries.ts'
import { Observable, useObservable } from '../../lib/observable.ts'
import { PALETTE_KEY, useGlobalKeys } from '../../lib/use-global-keys.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon } from '../ui/icon.tsx'
import { Pressable } from '../ui/pressable.tsx'
import { Text } from '../ui/text.tsx'

type Opened = { readonly kind: 'palette' | 'keys' } | { readonly kind: 'enqueue'; readonly topic: Topic }

const opened = new Observable<Opened | null>(null)
const close = () => opened.set(null)
const showKeys = () => opened.set({ kind: 'keys' })
const showPalette = () => opened.set({ kind: 'palette' })
const enqueue = (topic: Topic) => opened.set({ kind: 'enqueue', topic })

/** The keys of every screen, and what they open. */
export function Shortcuts() {
  const router = useRouter()
  const shown = useObservable(opened)
  useGlobalKeys({
    'mod+k': showPalette,
    '?': showKeys,
    ...Object.fromEntries(PAGES.map(({ href }) => [`g ${PAGE_KEYS[href]}`, () => router.navigate(href)])),
  })
  switch (shown?.kind) {
    case 'palette':
      return <Palette onClose={close} onKeys={showKeys} onEnqueue={enqueue} />
    case 'keys':
      return <KeySheet onClose={close} />
    case 'enqueue':
      return <EnqueueSheet topic={shown.topic} onClose={close} />
    default:
      return null
  }
}

/** In the rail: for those who do not know the key, and to learn it. */
export function PaletteButton() {
  const { colors } = useTheme()
  return (
    <Pressable
      role="button"
      spoken="Search or jump"
      onPress={showPalette}
      style={[styles.button, { borderColor: colors.line, backgroundColor: colors.surface }]}
    >
      <Icon name="search" size={16} color="textMuted" />
      <Text variant="label" color="textMuted" style={styles.words}>
        Jump to…
      </Text>
      <Text variant="overline" color="textMuted">
        {PALETTE_KEY}
      </Text>
    </Pressable>
  )
}

const styles = StyleSheet.create({
  button: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.s,
    minHeight: 40,
    borderWidth: 1,
    borderRadius: radius.m,
    paddingHorizontal: space.m,
    marginBottom: space.s,
  },
  words: { flex: 1 },
})
