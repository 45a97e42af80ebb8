import { Split } from '../../components/shell/split.tsx'
import { JobsScreen } from '../../features/jobs/jobs-screen.tsx'
import { useIsDesk } from '../../theme/use-theme.ts'

export default function JobsRoute() {
  // From the width of a desk on it is a table, which takes all the room.
  return <Split list={<JobsScreen />} hint="Choose a job" isAlone={useIsDesk()} />
}
