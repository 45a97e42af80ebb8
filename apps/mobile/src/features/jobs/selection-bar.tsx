import { StyleSheet, View } from 'react-native'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Button } from '../../components/ui/button.tsx'
import { IconButton } from '../../components/ui/icon-button.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock } from '../../lib/api.tsx'
import { space } from '../../theme/tokens.ts'
import type { Action } from '../bulk-operations/words.ts'

export interface SelectionBarProps {
  /** "3 jobs selected". */
  readonly words: string
  readonly isNone: boolean
  /** What can be selected. */
  readonly noun?: string
  readonly onAct: (action: Action) => void
  readonly onClose: () => void
}

/** Actions on the selection. */
export function SelectionBar({ words, isNone, noun = 'jobs', onAct, onClose }: SelectionBarProps) {
  const role = useLock()
  const lock = role ?? (isNone ? `Select ${noun} first.` : null)
  return (
    <ActionBar>
      <View style={styles.line}>
        <Text variant="heading" role="status" style={styles.words}>
          {words}
        </Text>
        <IconButton icon="close" label="Stop selecting" onPress={onClose} />
      </View>
      <Button label="Retry" icon="requeue" lock={lock} onPress={() => onAct('requeue')} />
      <Button label="Run now" icon="runNow" lock={lock} onPress={() => onAct('run_now')} />
      <Button label="Cancel" icon="cancel" lock={lock} onPress={() => onAct('cancel')} />
      <IconButton icon="remove" label="Delete" color="text" lock={lock} onPress={() => onAct('delete')} />
    </ActionBar>
  )
}

const styles = StyleSheet.create({
  line: { flexDirection: 'row', alignItems: 'center', gap: space.s, width: '100%' },
  words: { flex: 1 },
})
