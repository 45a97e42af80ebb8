import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function SchedulesScreen() {
  return (
    <Page title="Schedules" parent="/settings">
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
