import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'

type Refusal = { readonly status: number; readonly code: string; readonly headers?: Record<string, string> }
type Message = { readonly to: string } & Readonly<Record<string, unknown>>

const fault = (error: string, token: string) => ({
  status: 'error',
  message: `"${token}" is not a registered push notification recipient`,
  details: { error, expoPushToken: token },
})

const refused = ({ status, code, headers = {} }: Refusal) => ({
  ...{ status, headers, body: { errors: [{ code, message: `refused: ${code}` }] } },
})

/**
 * Expo's push service as its documents describe it: tickets for messages, later receipts for tickets, errors for a
 * message or for a whole request. A test lets Expo's own client talk to it.
 */
export class FakeExpo {
  /** All requests, accepted or not. */
  readonly requests: { path: string; authorization: string | undefined; body: unknown }[] = []
  /** Messages that reached phones. */
  readonly messages: Message[] = []
  /** Errors of tickets and of receipts, by push token. */
  readonly badTickets = new Map<string, string>()
  readonly badReceipts = new Map<string, string>()
  /** Receipts are not there yet. */
  isSlow = false
  /** Refuses a whole request. Null accepts it. */
  refuse: (messages: readonly Message[]) => Refusal | null = () => null
  refuseReceipts: Refusal | null = null
  readonly #receipts = new Map<string, object>()
  readonly #server: Server

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const { url: path = '', headers } = request
      const body = await readBody(request)
      this.requests.push({ path, authorization: headers.authorization, body })
      const answer = this.#answer(path, body)
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      response.end(JSON.stringify(answer.body))
    })
  }

  static async listen(): Promise<FakeExpo> {
    const expo = new FakeExpo()
    await new Promise<void>((resolve) => expo.#server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      expo.#server.close()
      expo.#server.closeAllConnections()
    })
    return expo
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get sends() {
    return this.requests.filter(({ path }) => path.endsWith('/send'))
  }

  #answer(path: string, body: unknown): { status: number; headers?: Record<string, string>; body: unknown } {
    if (path === '/--/api/v2/push/getReceipts') {
      if (this.refuseReceipts) return refused(this.refuseReceipts)
      const { ids } = body as { ids: string[] }
      const found = this.isSlow ? [] : ids.filter((id) => this.#receipts.has(id))
      const data = Object.fromEntries(found.map((id) => [id, this.#receipts.get(id)]))
      return { status: 200, body: { data } }
    }
    if (path !== '/--/api/v2/push/send') return { status: 404, body: { errors: [{ code: 'NOT_FOUND' }] } }
    const messages = (Array.isArray(body) ? body : [body]) as Message[]
    const refusal = this.refuse(messages)
    if (refusal) return refused(refusal)
    return { status: 200, body: { data: messages.map((message) => this.#take(message)) } }
  }

  #take(message: Message): object {
    const { to } = message
    const badTicket = this.badTickets.get(to)
    if (badTicket !== undefined) return fault(badTicket, to)
    this.messages.push(message)
    const id = `ticket-${this.messages.length}`
    const badReceipt = this.badReceipts.get(to)
    this.#receipts.set(id, badReceipt === undefined ? { status: 'ok' } : fault(badReceipt, to))
    return { status: 'ok', id }
  }
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
  return JSON.parse(text.toString())
}
