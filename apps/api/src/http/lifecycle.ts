import { OncueError } from '@oncue/core'
import type { Runtime, SlowService } from '@oncue/runtime'
import type { FastifyInstance } from 'fastify'

/** Docker kills a container 10 s after it asked it to stop. */
const GRACE_MS = 7_000
const IDLE_CHECK_MS = 50

export interface HttpServices {
  /** Accepts connections. Its stop returns once no new one is accepted; requests that are under way go on. */
  readonly connections: SlowService
  /** Its stop waits for requests that are under way, and cuts their connections after 7 s. */
  readonly requests: SlowService
  /** Where it listens, once it does. */
  readonly url: string
}

/** The two ends of a server: streams have to end after the one and before the other. */
export function createHttpServices(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
  runtime: Runtime,
): HttpServices {
  let url = ''
  let listening: Promise<unknown> | undefined
  let closed: Promise<void> | undefined
  const accepting = new Promise<void>((resolve) => {
    // The last step before Fastify closes the listening socket, in the same turn.
    app.addHook('preClose', (done) => {
      resolve()
      done()
    })
  })
  const close = () => {
    closed ??= Promise.resolve(app.close())
    return closed
  }
  return {
    get url() {
      return url
    },
    connections: {
      async start() {
        const listened = app.listen({ host, port })
        listening = listened.catch(() => {})
        url = await listened.catch((cause: NodeJS.ErrnoException) => {
          const hint =
            'Is the API already running? Choose another port with --port or ONCUE_PORT, or another address with ONCUE_HOST.'
          const why = cause.code === 'EADDRINUSE' ? `port ${port} is already in use` : cause.code
          const message = `Cannot listen on ${host}:${port}: ${why}`
          throw new OncueError('INVALID_INPUT', message, { cause, hint })
        })
      },
      async stop() {
        await listening
        await Promise.race([accepting, close()])
      },
    },
    requests: {
      start() {},
      async stop() {
        // A connection that becomes idle now would otherwise be kept open, and delay the end.
        const idle = runtime.every(IDLE_CHECK_MS, () => app.server.closeIdleConnections())
        const cut = runtime.after(GRACE_MS, () => app.server.closeAllConnections())
        try {
          await close()
        } finally {
          runtime.cancel(idle)
          runtime.cancel(cut)
        }
      },
    },
  }
}
