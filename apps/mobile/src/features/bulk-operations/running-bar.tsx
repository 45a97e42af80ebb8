import { usePathname } from 'expo-router'
import { StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Pressable } from '../../components/ui/pressable.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock } from '../../lib/api.tsx'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space, toneOf } from '../../theme/tokens.ts'
import { useIsLargeText, useTheme } from '../../theme/use-theme.ts'
import { useStop } from './use-stop.ts'
import { barInWords, type Progress } from './words.ts'

type Running = Progress & { readonly id: string; readonly by: { readonly name: string } }

/** On every screen, for every role, while bulk operations run: progress and Stop. Fed by health's stream. */
export function RunningBar() {
  const { data } = useHealth()
  const pathname = usePathname()
  // The operation's own page says more, and has the same button.
  const running = (data?.bulkOperations ?? []).filter(({ id }) => !pathname.endsWith(id))
  return running.map((operation) => <Line key={operation.id} operation={operation} />)
}

function Line({ operation }: { readonly operation: Running }) {
  const { colors } = useTheme()
  const open = useOpen('bulkOperationId')
  const lock = useLock()
  const stop = useStop()
  const { ink, wash } = toneOf(colors, 'accent')
  // A number that is cut is another number: it wraps where text is large.
  const isLargeText = useIsLargeText()
  const words = barInWords(operation)
  return (
    <View style={[styles.bar, lock === null && styles.flush, { backgroundColor: wash }]}>
      <Pressable
        role="link"
        spoken={`${words}, by ${operation.by.name}`}
        onPress={() => open(operation.id)}
        style={styles.words}
      >
        <Icon name="running" ink={ink} size={16} />
        <Text variant="label" strong style={styles.text} {...(!isLargeText && { numberOfLines: 1 })}>
          {words} · {operation.by.name}
        </Text>
      </Pressable>
      <Button
        label="Stop"
        variant="quiet"
        lock={lock}
        isBusy={stop.isRunning}
        onPress={() => void stop.run(operation.id)}
      />
    </View>
  )
}

const styles = StyleSheet.create({
  bar: { flexDirection: 'row', alignItems: 'center', gap: space.s, paddingHorizontal: space.l },
  // The word Stop ends where the page ends: its button has the same padding.
  flush: { paddingRight: 0 },
  words: { flex: 1, minWidth: 0, flexDirection: 'row', alignItems: 'center', gap: space.s },
  text: { flexShrink: 1 },
})
