import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function QueuesScreen({ openId }: { readonly openId?: string }) {
  return (
    <Page title="Queues" isAside={openId !== undefined}>
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
