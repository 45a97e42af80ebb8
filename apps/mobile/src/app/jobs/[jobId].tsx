import { useLocalSearchParams } from 'expo-router'
import { Split } from '../../components/shell/split.tsx'
import { JobScreen } from '../../features/jobs/job-screen.tsx'
import { JobsScreen } from '../../features/jobs/jobs-screen.tsx'

export default function JobRoute() {
  const { jobId } = useLocalSearchParams<{ jobId: string }>()
  return (
    <Split list={<JobsScreen openId={jobId} />} hint="">
      <JobScreen key={jobId} jobId={jobId} />
    </Split>
  )
}
