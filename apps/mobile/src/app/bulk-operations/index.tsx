import { BulkOperationsScreen } from '../../features/bulk-operations/bulk-operations-screen.tsx'

export default function BulkOperationsRoute() {
  return <BulkOperationsScreen />
}
