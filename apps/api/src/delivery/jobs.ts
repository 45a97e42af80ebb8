import { createHash } from 'node:crypto'
import { isOncueError, type NewJob } from '@oncue/core'
import { INTERNAL_QUEUE, INTERNAL_TOPIC_PREFIX, prepareOwnJob } from '@oncue/core/internal'
import type { ChannelRow } from '@oncue/db'
import { z } from 'zod'
import type { Notification } from '../alerts/notification.ts'
import type { Services } from '../context.ts'
import { type AlertMessage, alertMessageSchema, toAlertMessage } from './alert-message.ts'
import { cancelled, NotDelivered, retried, settlementOf } from './outcome.ts'
import type { Push } from './push.ts'
import type { Handler } from './runner.ts'
import type { Sender } from './sender.ts'

const NOTIFY_TOPIC = `${INTERNAL_TOPIC_PREFIX}notify`
const RECEIPT_TOPIC = `${INTERNAL_TOPIC_PREFIX}receipt`

const notifyPayloadSchema = z.object({ channelId: z.uuid(), message: alertMessageSchema })

const receiptPayloadSchema = z.object({
  channelId: z.uuid(),
  receiptId: z.string(),
  /** A hash: people who see jobs need not know push tokens. */
  sentTo: z.string(),
})

/** 10 s, 20 s, … 10 min: about an hour. */
const NOTIFY_RETRY = {
  strategy: 'exponential_jitter',
  baseDelay: 10_000,
  maxDelay: 600_000,
  max: 12,
} as const
/** When Expo has a receipt; it keeps one for a day. */
const RECEIPT_MS = 15 * 60_000

/** One job per notification and channel, however often it is enqueued. */
export function toNotifyJob(notification: Notification, channel: ChannelRow): NewJob {
  const payload: z.input<typeof notifyPayloadSchema> = {
    channelId: channel.id,
    message: toAlertMessage(notification),
  }
  const job = prepareOwnJob(NOTIFY_TOPIC, payload, {
    queue: INTERNAL_QUEUE,
    retry: NOTIFY_RETRY,
    timeoutMs: 30_000,
    meta: { channel: channel.id, ...(notification.alert && { alert: notification.alert.id }) },
  })
  return { ...job, internalKey: `${notification.id}:${channel.id}` }
}

export function toReceiptJob(channel: ChannelRow, receiptId: string): NewJob {
  const payload: z.input<typeof receiptPayloadSchema> = {
    channelId: channel.id,
    receiptId,
    sentTo: hashOf(channel),
  }
  const job = prepareOwnJob(RECEIPT_TOPIC, payload, {
    queue: INTERNAL_QUEUE,
    delay: RECEIPT_MS,
    retry: { strategy: 'fixed', baseDelay: RECEIPT_MS, max: 5 },
    timeoutMs: 30_000,
    meta: { channel: channel.id },
  })
  return { ...job, internalKey: `receipt:${receiptId}` }
}

const hashOf = ({ address }: ChannelRow) => createHash('sha256').update(address).digest('hex').slice(0, 16)

/** What runs each internal job, by topic. */
export function createHandlers(
  { store, control, runtime }: Pick<Services, 'store' | 'control' | 'runtime'>,
  sender: Sender,
  push: Push,
): ReadonlyMap<string, Handler> {
  const notify: Handler = async (job, signal) => {
    const { channelId, message } = notifyPayloadSchema.parse(job.payload)
    const channel = await control.channels.get(channelId)
    if (!channel?.enabled) return cancelled(job, 'The channel was removed or turned off')
    if (await isResolved(message)) return cancelled(job, 'The alert was resolved before it could be sent')
    const outcome = await sender.attempt(channel, job.id, message, signal)
    if (outcome.kind === 'delivered' && outcome.receiptId !== undefined)
      await store.enqueue([toReceiptJob(channel, outcome.receiptId)])
    return settlementOf(job, outcome, runtime)
  }

  /** Sent after its end, an alert would open an incident that is never closed. */
  async function isResolved({ type, alert, alerts }: AlertMessage): Promise<boolean> {
    if ((type !== 'alert.firing' && type !== 'alert.acked') || alert === null) return false
    for (const { id } of alerts.length > 0 ? alerts : [alert]) {
      try {
        if ((await control.alerts.get(id)).status !== 'resolved') return false
      } catch (error) {
        if (isOncueError(error, 'ALERT_NOT_FOUND')) return false
        throw error
      }
    }
    return true
  }

  /** Asks Expo whether a phone was reached. A failed delivery is recorded with the channel; the job itself is complete. */
  const receipt: Handler = async (job, signal) => {
    const { channelId, receiptId, sentTo } = receiptPayloadSchema.parse(job.payload)
    const channel = await control.channels.get(channelId)
    if (!channel || hashOf(channel) !== sentTo) return cancelled(job, 'The phone has a new push token')
    const outcome = await push.receipt(receiptId, signal)
    if (outcome === undefined) return retried(job, new NotDelivered('There is no receipt yet'), runtime)
    if (outcome.kind !== 'delivered') await sender.record(channel, outcome)
    return { id: job.id, run: job.run, kind: 'complete', result: JSON.stringify(outcome) }
  }

  return new Map([
    [NOTIFY_TOPIC, notify],
    [RECEIPT_TOPIC, receipt],
  ])
}
