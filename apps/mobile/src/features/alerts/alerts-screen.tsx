import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function AlertsScreen({ openId }: { readonly openId?: string }) {
  return (
    <Page title="Alerts" isAside={openId !== undefined}>
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
