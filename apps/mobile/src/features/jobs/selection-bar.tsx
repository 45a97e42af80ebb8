import { StyleSheet, View } from 'react-native'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock } from '../../lib/api.tsx'
import { space } from '../../theme/tokens.ts'
import { type Action, jobs, many } from '../operations/words.ts'

export interface SelectionBarProps {
  readonly selected: number
  readonly isAll: boolean
  readonly total: { readonly count: number; readonly isExact: boolean }
  /** Without a filter "all" would be every job there is. */
  readonly isFiltered: boolean
  readonly onAll: () => void
  readonly onAct: (action: Action) => void
  readonly onClose: () => void
}

/** What can be done to those that are selected. */
export function SelectionBar(props: SelectionBarProps) {
  const { selected, isAll, total, isFiltered, onAll, onAct, onClose } = props
  const role = useLock()
  const lock = role ?? (selected === 0 && !isAll ? 'Select jobs first.' : null)
  const all = many(total.count, total.isExact)
  return (
    <ActionBar>
      <View style={styles.line}>
        <Text variant="heading" role="status" style={styles.words}>
          {isAll ? `All ${all} that match` : `${jobs(selected)} selected`}
        </Text>
        {!isAll && total.count > selected && (
          <Button
            label={`Select all ${all} that match`}
            variant="quiet"
            lock={isFiltered ? null : 'Choose a filter first: without one it would be every job there is.'}
            onPress={onAll}
          />
        )}
        <Button label="Done" variant="quiet" onPress={onClose} />
      </View>
      <Button label="Retry" icon="requeue" lock={lock} onPress={() => onAct('requeue')} />
      <Button label="Cancel" icon="cancel" lock={lock} onPress={() => onAct('cancel')} />
      <Button label="Delete" icon="remove" lock={lock} onPress={() => onAct('delete')} />
    </ActionBar>
  )
}

const styles = StyleSheet.create({
  line: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.s, width: '100%' },
  words: { flexGrow: 1 },
})
