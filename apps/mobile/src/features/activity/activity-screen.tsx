import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function ActivityScreen() {
  return (
    <Page title="Activity" parent="/settings">
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
