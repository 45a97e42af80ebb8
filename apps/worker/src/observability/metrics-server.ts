import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Metrics } from './metrics.ts'

export interface MetricsServer {
  readonly url: string
  close(): Promise<void>
}

/** `/metrics` for Prometheus and `/healthz` for whoever restarts what does not answer. */
export async function serveMetrics(options: {
  readonly metrics: Metrics
  /** 0: any that is free. */
  readonly port: number
  readonly host?: string | undefined
}): Promise<MetricsServer> {
  const { metrics, port, host = '127.0.0.1' } = options
  const { registry } = metrics
  const server = createServer(async (request, response) => {
    // Not by URL, which throws for what any client can send, such as `//`.
    const [path] = (request.url ?? '/').split('?', 1)
    if (path === '/healthz') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n')
      return
    }
    if (path !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Look at /metrics or /healthz.\n')
      return
    }
    try {
      const text = await registry.metrics()
      response.writeHead(200, { 'content-type': registry.contentType }).end(text)
    } catch {
      response.writeHead(500).end()
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  // The jobs keep the process alive, not those who watch them.
  server.unref()
  const { address, port: bound, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
