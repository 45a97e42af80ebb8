import { Split } from '../../components/shell/split.tsx'
import { JobsScreen } from '../../features/jobs/jobs-screen.tsx'

export default function JobsRoute() {
  return <Split list={<JobsScreen />} hint="Choose a job" />
}
