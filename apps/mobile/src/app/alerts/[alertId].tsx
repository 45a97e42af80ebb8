import { useLocalSearchParams } from 'expo-router'
import { Split } from '../../components/shell/split.tsx'
import { AlertScreen } from '../../features/alerts/alert-screen.tsx'
import { AlertsScreen } from '../../features/alerts/alerts-screen.tsx'

export default function AlertRoute() {
  const { alertId } = useLocalSearchParams<{ alertId: string }>()
  return (
    <Split list={<AlertsScreen openId={alertId} />} hint="">
      <AlertScreen key={alertId} alertId={alertId} />
    </Split>
  )
}
