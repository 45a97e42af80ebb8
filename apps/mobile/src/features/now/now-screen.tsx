import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function NowScreen() {
  return (
    <Page title="Now">
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
