import { describeConnection } from '../../lib/connection.ts'
import { useConnection, useConnectionState } from '../../lib/connection-provider.tsx'
import { timeOfDay } from '../../lib/format.ts'
import { useSignedIn } from '../../lib/session.ts'
import { Banner } from '../ui/banner.tsx'
import { Button } from '../ui/button.tsx'

/** Shown above every screen while the server does not respond. Nothing else on the screen repeats it. */
export function OfflineBanner() {
  const connection = useConnection()
  const state = useConnectionState()
  const { server } = useSignedIn()
  if (state.phase !== 'offline') return null
  return (
    <Banner
      tone="bad"
      icon="offline"
      text={describeConnection(state, timeOfDay)}
      detail={`${server.name} is not responding. Nothing here is current, and no action is sent.`}
      action={<Button label="Reconnect" icon="refresh" onPress={() => connection?.retryNow()} />}
    />
  )
}
