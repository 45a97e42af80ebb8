import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function QueueScreen({ queue }: { readonly queue: string }) {
  return (
    <Page title={queue} parent="/queues">
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
