import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function AlertScreen({ alertId }: { readonly alertId: string }) {
  return (
    <Page title={alertId} parent="/alerts">
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
