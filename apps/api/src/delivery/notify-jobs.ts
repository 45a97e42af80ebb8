import { isOncueError, type NewJob } from '@oncue/core'
import { INTERNAL_QUEUE, INTERNAL_TOPIC_PREFIX, prepareOwnJob } from '@oncue/core/internal'
import type { ChannelRow, ClaimedJob, Settlement } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { z } from 'zod'
import type { Notification } from '../alerts/notification.ts'
import type { Services } from '../context.ts'
import { type AlertMessage, alertMessageSchema, toAlertMessage } from './alert-message.ts'
import { toReceiptJob } from './receipt-jobs.ts'
import type { Sender } from './sender.ts'
import { cancelled, settlementOf } from './settlement.ts'

export const NOTIFY_TOPIC = `${INTERNAL_TOPIC_PREFIX}notify`

const payloadSchema = z.object({ channelId: z.uuid(), message: alertMessageSchema })

/** 10 s, 20 s, … 10 min: about an hour. */
const RETRY = { strategy: 'exponential_jitter', baseDelay: 10_000, maxDelay: 600_000, max: 12 } as const

/** However often it is asked for, there is one for each notification and channel. */
export function toNotifyJob(notification: Notification, channel: ChannelRow): NewJob {
  const payload: z.input<typeof payloadSchema> = {
    channelId: channel.id,
    message: toAlertMessage(notification),
  }
  const job = prepareOwnJob(NOTIFY_TOPIC, payload, {
    queue: INTERNAL_QUEUE,
    retry: RETRY,
    timeoutMs: 30_000,
    meta: { channel: channel.id, ...(notification.alert && { alert: notification.alert.id }) },
  })
  return { ...job, internalKey: `${notification.id}:${channel.id}` }
}

export function notifyHandler({ store, control }: Pick<Services, 'store' | 'control'>, sender: Sender) {
  return async (job: ClaimedJob, signal: AbortSignal): Promise<Settlement> => {
    const { channelId, message } = payloadSchema.parse(job.payload)
    const channel = await control.channels.get(channelId)
    if (!channel?.enabled) return cancelled(job, 'The channel was removed or switched off')
    if (await isOver(control, message)) return cancelled(job, 'It was resolved before it could be told')
    const outcome = await sender.attempt(channel, job.id, message, signal)
    if (outcome.kind === 'delivered' && outcome.receiptId !== undefined)
      await store.enqueue([toReceiptJob(channel, outcome.receiptId)])
    return settlementOf(job, outcome)
  }
}

/** Told after its end, an alert would open an incident that nobody closes. */
async function isOver({ alerts }: Control, { type, alert }: AlertMessage): Promise<boolean> {
  if (type !== 'alert.firing' || alert === null) return false
  try {
    return (await alerts.get(alert.id)).status === 'resolved'
  } catch (error) {
    if (isOncueError(error, 'ALERT_NOT_FOUND')) return false
    throw error
  }
}
