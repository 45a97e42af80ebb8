import { Split } from '../../components/shell/split.tsx'
import { AlertsScreen, useAlertsView } from '../../features/alerts/alerts-screen.tsx'

export default function AlertsRoute() {
  const { isOfAlerts } = useAlertsView()
  return <Split list={<AlertsScreen />} hint="Choose an alert" isAlone={!isOfAlerts} />
}
