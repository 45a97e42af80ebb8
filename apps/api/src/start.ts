import { OncueError } from '@oncue/core'
import { openStore } from '@oncue/db'
import type { FastifyInstance } from 'fastify'
import { Audit } from './audit.ts'
import { AuditRetention } from './audit-retention.ts'
import { createAuth } from './auth/auth.ts'
import { GuessBudget } from './auth/guess-budget.ts'
import { createJwtVerifier } from './auth/jwt.ts'
import { createSettings } from './auth/settings.ts'
import type { Config } from './config.ts'
import type { Services } from './context.ts'
import { Enqueuer } from './enqueuer.ts'
import { Live } from './live/live.ts'
import type { Logger } from './log.ts'
import { createPayloadValidation } from './payload-validation.ts'
import { closeServer } from './server/close.ts'
import { createServer } from './server.ts'

export interface Api {
  /** Where it answers. */
  readonly url: string
  readonly services: Services
  /** Made at the first start; null afterwards, and when it was given. */
  readonly adminToken: string | null
  /** Accepts nothing more, ends the streams, lets requests finish. A second call waits for the first. */
  close(): Promise<void>
}

/** Opens the store, and serves it until `close`. */
export async function startApi(config: Config, log: Logger): Promise<Api> {
  const store = await openStore(config.databaseUrl)
  try {
    const settings = createSettings(store, config.settings)
    const verifyJwt = config.jwt ? createJwtVerifier(config.jwt) : null
    const auth = createAuth({ store, settings, verifyJwt, adminToken: config.adminToken ?? null })
    const live = new Live(store)
    const services: Services = {
      store,
      settings,
      auth,
      live,
      log,
      audit: new Audit(store),
      enqueuer: new Enqueuer(store),
      payloads: createPayloadValidation({ store, log }),
      guesses: new GuessBudget({ perAddress: 10, inAll: 300 }),
      publicUrl: config.publicUrl,
    }
    const { adminToken } = await auth.bootstrap()
    const { appDir, corsOrigins, trustProxy, ratePerToken, ratePerAddress } = config
    const app = await createServer(services, {
      appDir,
      corsOrigins,
      trustProxy,
      limits: { perToken: ratePerToken, perAddress: ratePerAddress },
    })
    const url = await listen(app, config)
    const retention = new AuditRetention(store, log)
    retention.start()
    let closed: Promise<void> | undefined
    const close = async () => {
      await closeServer(app, live)
      auth.close()
      await retention.close()
      await store.close()
    }
    return {
      url,
      services,
      adminToken,
      close() {
        closed ??= close()
        return closed
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (cause) {
    const hint = 'Is it running already? Set ONCUE_HOST and ONCUE_PORT to an address that is free here.'
    const { code } = cause as NodeJS.ErrnoException
    throw new OncueError('INVALID_INPUT', `Cannot listen on ${host}:${port}: ${code}`, { cause, hint })
  }
}
