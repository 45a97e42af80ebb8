import { createHash } from 'node:crypto'
import type { NewJob } from '@oncue/core'
import { INTERNAL_QUEUE, INTERNAL_TOPIC_PREFIX, prepareOwnJob } from '@oncue/core/internal'
import type { ChannelRow, ClaimedJob, Settlement } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { z } from 'zod'
import type { Push } from './push.ts'
import type { Sender } from './sender.ts'
import { cancelled, NotDelivered, retried } from './settlement.ts'

export const RECEIPT_TOPIC = `${INTERNAL_TOPIC_PREFIX}receipt`

/** When Expo knows what became of a message; it keeps that for a day. */
const LATER_MS = 15 * 60_000

const payloadSchema = z.object({
  channelId: z.uuid(),
  receiptId: z.string(),
  /** A hash: those who see jobs need not know push tokens. */
  sentTo: z.string(),
})

const hashOf = ({ address }: ChannelRow) => createHash('sha256').update(address).digest('hex').slice(0, 16)

export function toReceiptJob(channel: ChannelRow, receiptId: string): NewJob {
  const payload: z.input<typeof payloadSchema> = { channelId: channel.id, receiptId, sentTo: hashOf(channel) }
  const job = prepareOwnJob(RECEIPT_TOPIC, payload, {
    queue: INTERNAL_QUEUE,
    delay: LATER_MS,
    retry: { strategy: 'fixed', baseDelay: LATER_MS, max: 5 },
    timeoutMs: 30_000,
    meta: { channel: channel.id },
  })
  return { ...job, internalKey: `receipt:${receiptId}` }
}

/** Looks whether a phone was reached. What it finds is about the channel; its own work is done. */
export function receiptHandler({ channels }: Control, sender: Sender, push: Push) {
  return async (job: ClaimedJob, signal: AbortSignal): Promise<Settlement> => {
    const { channelId, receiptId, sentTo } = payloadSchema.parse(job.payload)
    const channel = await channels.get(channelId)
    if (!channel || hashOf(channel) !== sentTo) return cancelled(job, 'The phone is reached otherwise now')
    const outcome = await push.receipt(receiptId, signal)
    if (outcome === undefined) return retried(job, new NotDelivered('There is no receipt yet'))
    if (outcome.kind !== 'delivered') await sender.record(channel, outcome)
    return { id: job.id, run: job.run, kind: 'complete', result: JSON.stringify(outcome) }
  }
}
