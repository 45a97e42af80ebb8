import { BulkOperationsScreen } from '../../features/rare-screens.tsx'

export default function BulkOperationsRoute() {
  return <BulkOperationsScreen />
}
