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

/** Actions on the selection: three in one row on a phone, and the one that cannot be undone away from them. */
export function SelectionBar({ words, isNone, noun = 'jobs', onAct, onClose }: SelectionBarProps) {
  const unusable = { lock: useLock(), needs: isNone ? `Select ${noun} first.` : null }
  return (
    <ActionBar>
      <View style={styles.line}>
        <IconButton icon="close" label="Stop selecting" onPress={onClose} />
        <Text variant="heading" role="status" style={styles.words}>
          {words}
        </Text>
        <IconButton icon="remove" label="Delete" color="text" {...unusable} onPress={() => onAct('delete')} />
      </View>
      <Button label="Retry" icon="requeue" {...unusable} onPress={() => onAct('requeue')} />
      <Button label="Run now" icon="runNow" {...unusable} onPress={() => onAct('run_now')} />
      <Button label="Cancel" icon="cancel" {...unusable} onPress={() => onAct('cancel')} />
    </ActionBar>
  )
}

const styles = StyleSheet.create({
  line: { flexDirection: 'row', alignItems: 'center', gap: space.s, width: '100%' },
  words: { flex: 1 },
})
