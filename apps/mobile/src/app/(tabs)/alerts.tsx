import { Split } from '../../components/shell/split.tsx'
import { AlertsScreen } from '../../features/alerts/alerts-screen.tsx'

export default function AlertsRoute() {
  return <Split list={<AlertsScreen />} hint="Choose an alert" />
}
