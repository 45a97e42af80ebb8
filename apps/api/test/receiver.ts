import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventually } from '@oncue/testing'
import { onTestFinished } from 'vitest'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The body as bytes, if it is no text. */
  readonly bytes: Buffer
}

type Answer = {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** A receiver of notifications: a real server on this machine. It responds with 200 by default. */
export class Receiver {
  readonly received: Received[] = []
  /** `null`: no response. The second argument counts the requests, from 0. */
  answer: (request: Received, nth: number) => Answer | null = () => ({ status: 200 })
  readonly #server: Server

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { url: path = '', headers } = request
      const bytes = Buffer.concat(chunks)
      const received = { path, headers, body: bytes.toString(), bytes }
      const answer = this.answer(received, this.received.push(received) - 1)
      if (answer) response.writeHead(answer.status, answer.headers).end(answer.body)
    })
  }

  static async listen(): Promise<Receiver> {
    const receiver = new Receiver()
    const server = receiver.#server
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`
  }

  async until(count: number): Promise<void> {
    await eventually(() => {
      if (this.received.length < count) throw new Error(`${this.received.length} of ${count} came`)
    })
  }
}
