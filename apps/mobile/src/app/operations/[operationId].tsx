import { useLocalSearchParams } from 'expo-router'
import { OperationScreen } from '../../features/operations/operation-screen.tsx'

export default function OperationRoute() {
  const { operationId } = useLocalSearchParams<{ operationId: string }>()
  return <OperationScreen key={operationId} operationId={operationId} />
}
