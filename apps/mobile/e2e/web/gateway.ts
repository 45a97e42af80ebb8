import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** The service that the handlers of `releases/gateway.ts` call: up until the test says that it is down. */
export class Gateway {
  readonly url: string
  isUp = true

  private constructor(url: string) {
    this.url = url
  }

  static async open(): Promise<Gateway> {
    const server = createServer((_, response) => response.writeHead(gateway.isUp ? 200 : 504).end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const gateway = new Gateway(`http://127.0.0.1:${(server.address() as AddressInfo).port}/charge`)
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return gateway
  }
}
