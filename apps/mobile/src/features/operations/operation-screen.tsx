import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function OperationScreen({ operationId }: { readonly operationId: string }) {
  return (
    <Page title={operationId} parent="/">
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
