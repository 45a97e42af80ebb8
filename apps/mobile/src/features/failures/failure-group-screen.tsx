import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function FailureGroupScreen({ fingerprint }: { readonly fingerprint: string }) {
  return (
    <Page title={fingerprint} parent="/failures">
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
