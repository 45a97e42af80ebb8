import { Page } from '../../components/shell/page.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'

export function JobScreen({ jobId }: { readonly jobId: string }) {
  return (
    <Page title={jobId} parent="/jobs">
      <EmptyState icon="idle" title="Nothing here yet" />
    </Page>
  )
}
