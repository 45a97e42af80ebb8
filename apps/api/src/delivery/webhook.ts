import { createHmac } from 'node:crypto'
import type { ChannelRow } from '@oncue/db'
import type { Runtime } from '@oncue/runtime'
import type { AddressGuard } from './addresses.ts'
import { MESSAGE_TITLES, type Sent } from './alert-message.ts'
import { type Outcome, outcomeOf, outcomeOfSilence } from './outcome.ts'
import { post } from './post.ts'

const MAX_ANSWER_BYTES = 10_000

/** What every sender needs. */
export interface Means {
  readonly guard: AddressGuard
  readonly runtime: Runtime
  readonly signal: AbortSignal
}

/** A request to a service. */
export interface Content {
  readonly url: URL
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends one request to a URL that is checked now. */
export async function sendContent(content: Content, { guard, runtime, signal }: Means): Promise<Outcome> {
  try {
    guard.assertUrl(content.url)
    const { lookup } = guard
    const answer = await post({ ...content, lookup, signal, runtime, maxBytes: MAX_ANSWER_BYTES })
    // Slack's reasons: no_service, channel_is_archived.
    return outcomeOf(answer, /^[a-z_]{1,50}$/.exec(answer.text)?.[0])
  } catch (error) {
    return outcomeOfSilence(error)
  }
}

/** Webhooks, Slack and ntfy: one request with another body. */
export function sendToUrl(channel: ChannelRow, sent: Sent, means: Means): Promise<Outcome> {
  const url = new URL(channel.address)
  if (channel.kind === 'slack') return sendContent({ url, ...toSlack(sent) }, means)
  if (channel.kind === 'ntfy') return sendContent(toNtfy(channel, sent), means)
  return sendContent({ url, ...toWebhook(sent, channel.secret) }, means)
}

function toWebhook(
  { id, message, environment, url, now }: Sent,
  secret: string | null,
): Omit<Content, 'url'> {
  const { type, at, alert, alerts } = message
  const body = JSON.stringify({ type, id, at, alert, alerts, environment, url })
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

/** Text only: other services that accept Slack's format accept that. */
function toSlack({ message, environment, url }: Sent): Omit<Content, 'url'> {
  const where = environment === null ? '' : `[${escapeSlack(environment)}] `
  const link = url === null ? '' : ` <${escapeSlack(url)}|Open>`
  const text = `${where}*${MESSAGE_TITLES[message.type]}:* ${escapeSlack(message.summary)}${link}`
  return { body: JSON.stringify({ text }) }
}

/** The three characters with a meaning in Slack. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The priority of tests and resolved alerts, and of firing alerts unless the channel sets another. */
const NTFY_DEFAULT = 3
const NTFY_HIGH = 4
const NTFY_TAGS = { 'alert.firing': 'rotating_light', 'alert.resolved': 'white_check_mark' } as const

/** As JSON to the server's root, since headers cannot carry every letter. */
function toNtfy({ address, secret, options }: ChannelRow, { id, message, environment, url }: Sent): Content {
  const { type, summary } = message
  const target = new URL(address)
  const topic = target.pathname.split('/').at(-1) ?? ''
  target.pathname = target.pathname.slice(0, -topic.length)
  const body = {
    topic,
    title: MESSAGE_TITLES[type] + (environment === null ? '' : ` · ${environment}`),
    message: summary,
    priority: type === 'alert.firing' ? (options?.priority ?? NTFY_HIGH) : NTFY_DEFAULT,
    ...(type in NTFY_TAGS && { tags: [NTFY_TAGS[type as keyof typeof NTFY_TAGS]] }),
    ...(url !== null && { click: url }),
  }
  const headers = { 'oncue-delivery': id, ...(secret !== null && { authorization: `Bearer ${secret}` }) }
  return { url: target, body: JSON.stringify(body), headers }
}
