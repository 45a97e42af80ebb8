import { createHmac } from 'node:crypto'
import type { ChannelRow } from '@oncue/db'
import type { Runtime } from '@oncue/runtime'
import type { AddressGuard } from './addresses.ts'
import type { Sent } from './alert-message.ts'
import { type Outcome, outcomeOf, outcomeOfSilence } from './outcome.ts'
import { post } from './post.ts'

const MAX_ANSWER_BYTES = 10_000

type Content = { readonly body: string; readonly headers?: Readonly<Record<string, string>> }

/** Webhooks and Slack: the same request with another body. */
export async function sendToUrl(
  channel: ChannelRow,
  sent: Sent,
  { guard, runtime }: { readonly guard: AddressGuard; readonly runtime: Runtime },
  signal: AbortSignal,
): Promise<Outcome> {
  const content = channel.kind === 'slack' ? toSlack(sent) : toWebhook(sent, channel.secret)
  try {
    const url = new URL(channel.address)
    guard.assertUrl(url)
    const { lookup } = guard
    const answer = await post({ ...content, url, lookup, signal, runtime, maxBytes: MAX_ANSWER_BYTES })
    // Slack's reasons: no_service, channel_is_archived.
    return outcomeOf(answer, /^[a-z_]{1,50}$/.exec(answer.text)?.[0])
  } catch (error) {
    return outcomeOfSilence(error)
  }
}

function toWebhook({ id, message, environment, url, now }: Sent, secret: string | null): Content {
  const { type, at, alert } = message
  const body = JSON.stringify({ type, id, at, alert, environment, url })
  const headers = { 'oncue-delivery': id }
  if (secret === null) return { body, headers }
  return { body, headers: { ...headers, 'oncue-signature': signatureOf(secret, body, now) } }
}

/** The time is signed as well, so that a recorded request cannot be replayed later. */
function signatureOf(secret: string, body: string, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1_000)
  const hmac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${hmac}`
}

const SLACK_WORDS = { 'alert.firing': 'Firing', 'alert.resolved': 'Resolved', test: 'Test' } as const

/** Text only: other services that accept Slack's format accept that. */
function toSlack({ message, environment, url }: Sent): Content {
  const where = environment === null ? '' : `[${escapeSlack(environment)}] `
  const link = url === null ? '' : ` <${escapeSlack(url)}|Open>`
  const text = `${where}*${SLACK_WORDS[message.type]}:* ${escapeSlack(message.summary)}${link}`
  return { body: JSON.stringify({ text }) }
}

/** The three characters with a meaning in Slack. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
