import { Socket } from 'node:net'
import type { ChannelRow } from '@oncue/db'
import { createTransport } from 'nodemailer'
import { MESSAGE_TITLES, type Sent } from './alert-message.ts'
import type { Outcome } from './outcome.ts'
import { shorten } from './shorten.ts'

/** Timeout for connecting, for the greeting, and for each response. */
const TIMEOUT_MS = 10_000

/** The mail server from the configuration. Its address is not checked, since no user enters it. */
export interface MailOptions {
  /** smtp:// or smtps://, with user and password. */
  readonly url: string
  readonly from: string
}

/** Sends e-mails. */
export class Mail {
  readonly #options: MailOptions | null

  constructor(options: MailOptions | null) {
    this.#options = options
  }

  get isConfigured(): boolean {
    return this.#options !== null
  }

  /** The signal closes the connection: its timeouts never end with a server that keeps talking. */
  async send({ address }: ChannelRow, sent: Sent, signal: AbortSignal): Promise<Outcome> {
    if (!this.#options) return { kind: 'refused', error: 'ONCUE_SMTP_URL is not set' }
    const { url, from } = this.#options
    const timeouts = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }
    const isolated = { disableFileAccess: true, disableUrlAccess: true }
    const socket = new Socket()
    const transport = createTransport({ url, socket, ...timeouts, ...isolated })
    const close = () => void socket.destroy()
    signal.addEventListener('abort', close, { once: true })
    try {
      await transport.sendMail({ from, to: address, ...contentOf(sent) })
      return { kind: 'delivered' }
    } catch (error) {
      return outcomeOf(error as SmtpError)
    } finally {
      signal.removeEventListener('abort', close)
      transport.close()
    }
  }
}

/** Mails about the same group are one thread. */
function contentOf({ id, message, environment, url }: Sent) {
  const { type, summary, groups } = message
  const title = `${environment === null ? '' : `[${environment}] `}${MESSAGE_TITLES[type]}: ${summary}`
  const [group] = groups
  return {
    subject: shorten(title.replace(/\s+/g, ' '), 200),
    text: [title, ...(url === null ? [] : ['', url]), ''].join('\n'),
    messageId: `<${id}@oncue>`,
    ...(group && { references: `<${group.id}@oncue>` }),
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
}

interface SmtpError {
  readonly code?: string
  readonly responseCode?: number
}

/** Only codes: a response may quote the address or the user. */
function outcomeOf({ code = 'an error', responseCode }: SmtpError): Outcome {
  const error = `The mail server returned ${responseCode ?? code}`
  if (code === 'EAUTH') return { kind: 'refused', error: 'The mail server refused the user or the password' }
  if (responseCode === undefined)
    return { kind: 'failed', error: `The mail server cannot be reached: ${code}` }
  return { kind: responseCode >= 500 ? 'refused' : 'failed', error }
}
