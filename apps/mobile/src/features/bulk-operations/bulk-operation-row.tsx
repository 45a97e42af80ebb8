import { Row } from '../../components/ui/row.tsx'
import { StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago } from '../../components/ui/ticking.tsx'
import { useOpen } from '../../lib/use-open.ts'
import { type BulkOperation, hasFailedAgain, headlineOf, outcomesInWords, scopeOf } from './words.ts'

export function BulkOperationRow({ operation }: { readonly operation: BulkOperation }) {
  const open = useOpen('bulkOperationId')
  const hasFailed = hasFailedAgain(operation)
  const headline = headlineOf(operation)
  const scope = scopeOf(operation.filter, operation.filterError)
  return (
    <Row
      label={`${headline}, ${scope}, by ${operation.by.name}`}
      onPress={() => open(operation.id)}
      trailing={<StateWord state={hasFailed ? 'failedAgain' : operation.status} />}
    >
      <Text variant="heading" color={hasFailed ? 'bad' : 'text'}>
        {headline}
      </Text>
      <Text variant="small" color="textMuted">
        {operation.outcomes && operation.done > 0 && `${outcomesInWords(operation.outcomes)} · `}
        {scope} · {operation.by.name} · <Ago from={operation.created} />
      </Text>
    </Row>
  )
}
