import { useRouter } from 'expo-router'
import { Page } from '../components/shell/page.tsx'
import { EmptyState } from '../components/ui/empty-state.tsx'

export default function NotFoundRoute() {
  const router = useRouter()
  return (
    <Page title="Not found" parent="/">
      <EmptyState
        icon="search"
        title="Page not found"
        text="The link may be from another version, or incomplete."
        action={{ label: 'Back to Now', onPress: () => router.dismissTo('/') }}
      />
    </Page>
  )
}
