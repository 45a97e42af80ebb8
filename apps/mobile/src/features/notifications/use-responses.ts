import type { Client } from '@oncue/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { clearLastNotificationResponse, useLastNotificationResponse } from 'expo-notifications'
import { useRouter } from 'expo-router'
import { useEffect } from 'react'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { type Toast, useToast } from '../../components/ui/toast.tsx'
import { serverNow } from '../../lib/clock.ts'
import { type Session, useSession } from '../../lib/session.ts'
import { type PushResponse, readResponse, senderOf } from './response.ts'

const SNOOZE_MS = 60 * 60_000

/** What was pressed on a notification: Ack, Snooze, Open, or the notification itself. */
export function useResponses(): void {
  const response = useLastNotificationResponse()
  const session = useSession()
  const router = useRouter()
  const toast = useToast()
  const queries = useQueryClient()
  // biome-ignore lint/correctness/useExhaustiveDependencies: each response once, whatever else changes.
  useEffect(() => {
    if (!response) return
    clearLastNotificationResponse()
    const { actionIdentifier, notification } = response
    const pressed = readResponse(actionIdentifier, notification.request.content.data)
    void answer(pressed, session).then((told) => {
      router.push(pressed.path)
      if (told) toast.show(told)
      for (const read of ['alerts.list', 'alerts.get']) void queries.invalidateQueries({ queryKey: [read] })
    })
  }, [response])
}

/** On the server that sent it, which is then the one that is looked at. */
async function answer({ action, alertId, url }: PushResponse, session: Session): Promise<Toast | null> {
  const { servers, currentId } = session.servers.get()
  const sender = senderOf(servers, url)
  if (sender && sender.id !== currentId) await session.choose(sender.id)
  const state = session.state.get()
  if (alertId === null || action === 'open' || state.status !== 'signed-in') return null
  try {
    return await mark(state.client, action, alertId)
  } catch (error) {
    return { text: describeProblem(error).text, icon: 'warn' }
  }
}

async function mark(client: Client, action: 'ack' | 'snooze', id: string): Promise<Toast> {
  if (action === 'ack') {
    await client.alerts.ack({ id })
    return { text: 'Acknowledged', icon: 'check', undo: () => void client.alerts.unack({ id }) }
  }
  await client.alerts.snooze({ id, until: new Date(serverNow() + SNOOZE_MS) })
  return { text: 'Snoozed for 1 h', icon: 'snooze', undo: () => void client.alerts.unsnooze({ id }) }
}
