import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function FailuresScreen({ openId }: { readonly openId?: string }) {
  return (
    <Page title="Failures" isAside={openId !== undefined}>
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
