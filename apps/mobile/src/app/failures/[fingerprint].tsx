import { useLocalSearchParams } from 'expo-router'
import { Split } from '../../components/shell/split.tsx'
import { FailureGroupScreen } from '../../features/failures/failure-group-screen.tsx'
import { FailuresScreen } from '../../features/failures/failures-screen.tsx'

export default function FailureGroupRoute() {
  const { fingerprint } = useLocalSearchParams<{ fingerprint: string }>()
  return (
    <Split list={<FailuresScreen openId={fingerprint} />} hint="">
      <FailureGroupScreen key={fingerprint} fingerprint={fingerprint} />
    </Split>
  )
}
