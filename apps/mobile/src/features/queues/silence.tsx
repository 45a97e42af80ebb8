import { useRouter } from 'expo-router'
import { Button } from '../../components/ui/button.tsx'
import { useLock } from '../../lib/api.tsx'
import type { Health } from '../../lib/connection-provider.tsx'
import { ALERT_QUEUE, usePausing } from './use-pausing.ts'

/** No alert is sent, and the summary says so. */
export function isSilent({ delivery: { paused, limit } }: Health): boolean {
  return paused !== null || limit?.maxRunning === 0
}

/** Lets operators and admins send alerts again. A limit is changed on its queue's page. */
export function EndSilence({ health }: { readonly health: Health }) {
  const { resume, isRunning } = usePausing()
  const lock = useLock()
  const router = useRouter()
  if (!health.delivery.paused)
    return (
      <Button
        label="Show the limit"
        icon="queues"
        onPress={() => router.navigate({ pathname: '/queues/[queue]', params: { queue: ALERT_QUEUE } })}
      />
    )
  return (
    <Button
      label="Resume alerts"
      icon="resume"
      variant="primary"
      lock={lock}
      isBusy={isRunning}
      onPress={() => void resume(ALERT_QUEUE)}
    />
  )
}
