import { StyleSheet, View } from 'react-native'
import { Row } from '../../components/ui/row.tsx'
import { StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago } from '../../components/ui/ticking.tsx'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import { headlineOf, type Operation, scopeOf } from './words.ts'

export function OperationRow({ operation }: { readonly operation: Operation }) {
  const open = useOpen('operationId')
  const headline = headlineOf(operation)
  const scope = scopeOf(operation.filter)
  return (
    <Row
      label={`${headline}, ${scope}, by ${operation.by.name}`}
      onPress={() => open(operation.id)}
      trailing={<StateWord state={operation.status} />}
    >
      <Text variant="heading" numberOfLines={1}>
        {headline}
      </Text>
      <View style={styles.line}>
        <Text variant="small" color="textMuted" numberOfLines={1}>
          {scope} · {operation.by.name} · <Ago from={operation.created} />
        </Text>
      </View>
    </Row>
  )
}

const styles = StyleSheet.create({ line: { flexDirection: 'row', gap: space.s } })
