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

/** Handles presses on a notification: Ack, Snooze, Open, or the notification itself. */
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
    const refresh = () => {
      for (const read of ['alerts.list', 'alerts.get']) void queries.invalidateQueries({ queryKey: [read] })
    }
    void answer(pressed, session, refresh).then((told) => {
      router.push(pressed.path)
      if (told) toast.show(told)
      refresh()
    })
  }, [response])
}

/** Acts on the server that sent the notification, and switches the app to it. */
async function answer(pressed: PushResponse, session: Session, onUndone: () => void): Promise<Toast | null> {
  const { action, alertId, url } = pressed
  const { servers, currentId } = session.servers.get()
  const sender = senderOf(servers, url)
  if (sender && sender.id !== currentId) await session.choose(sender.id)
  const state = session.state.get()
  if (alertId === null || action === 'open' || state.status !== 'signed-in') return null
  const { mark, unmark, told } = MARKS[action]
  const { client } = state
  try {
    await mark(client, alertId)
    // A failed Undo needs no message: the alert's page is open and shows its state.
    return { text: told, icon: 'check', undo: () => void unmark(client, alertId).then(onUndone, onUndone) }
  } catch (error) {
    return { text: describeProblem(error).text, icon: 'warn' }
  }
}

type Mark = (client: Client, id: string) => Promise<unknown>

const MARKS: Readonly<Record<'ack' | 'snooze', { mark: Mark; unmark: Mark; told: string }>> = {
  ack: {
    mark: (client, id) => client.alerts.ack({ id }),
    unmark: (client, id) => client.alerts.unack({ id }),
    told: 'Acknowledged: no more notifications',
  },
  snooze: {
    mark: (client, id) => client.alerts.snooze({ id, until: new Date(serverNow() + SNOOZE_MS) }),
    unmark: (client, id) => client.alerts.unsnooze({ id }),
    told: 'Snoozed for 1 h',
  },
}
