import { useLocalSearchParams } from 'expo-router'
import { BulkOperationScreen } from '../../features/rare-screens.tsx'

export default function BulkOperationRoute() {
  const { bulkOperationId } = useLocalSearchParams<{ bulkOperationId: string }>()
  return <BulkOperationScreen key={bulkOperationId} bulkOperationId={bulkOperationId} />
}
