import { useLocalSearchParams } from 'expo-router'
import { BulkOperationScreen } from '../../features/bulk-operations/bulk-operation-screen.tsx'

export default function BulkOperationRoute() {
  const { bulkOperationId } = useLocalSearchParams<{ bulkOperationId: string }>()
  return <BulkOperationScreen key={bulkOperationId} bulkOperationId={bulkOperationId} />
}
