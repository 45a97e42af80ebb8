import { OncueError } from '@oncue/core'
import { openStore } from '@oncue/db'
import type { FastifyInstance } from 'fastify'
import { AlertEvaluator } from './alerts/evaluator.ts'
import { Audit } from './audit.ts'
import { createAuth } from './auth/auth.ts'
import { FailedAttempts } from './auth/failed-attempts.ts'
import { createJwtVerifier } from './auth/jwt.ts'
import { createSettings } from './auth/settings.ts'
import { BulkRunner } from './bulk/runner.ts'
import type { Config } from './config.ts'
import type { Services } from './context.ts'
import { openControl } from './control.ts'
import { Delivery } from './delivery/delivery.ts'
import { Enqueuer } from './enqueue/enqueuer.ts'
import { createPayloadValidation } from './enqueue/payload-validation.ts'
import { GaugeRecorder } from './health/gauge-recorder.ts'
import { closeServer } from './http/close.ts'
import { createServer } from './http/server.ts'
import { Live } from './live/live.ts'
import type { Logger } from './log.ts'
import { SearchBudget } from './procedures/search-budget.ts'
import { Retention } from './retention.ts'

export interface Api {
  /** Where it answers. */
  readonly url: string
  readonly services: Services
  /** Made at the first start; null afterwards, and when it was given. */
  readonly adminToken: string | null
  /** Accepts nothing more, ends the streams, lets requests finish. A second call waits for the first. */
  close(): Promise<void>
}

export interface StartOptions {
  /** False: it only answers, and leaves what happens by itself to other processes. */
  readonly background?: boolean | undefined
}

/** Opens the store, and serves it until `close`. */
export async function startApi(
  config: Config,
  log: Logger,
  { background = true }: StartOptions = {},
): Promise<Api> {
  const store = await openStore(config.databaseUrl, {
    schema: config.schema,
    onNewer: (newer) => log.warn({ newer }, 'a newer Oncue has migrated the database: finish the upgrade'),
  })
  try {
    const control = await openControl(store)
    const settings = createSettings(control, config.settings)
    const verifyJwt = config.jwt ? createJwtVerifier(config.jwt) : null
    const auth = createAuth({ store, settings, verifyJwt, adminToken: config.adminToken ?? null })
    const live = new Live({ store, control }, config.environment)
    const { environment, publicUrl } = config
    const delivery = new Delivery({ ...config.delivery, store, control, log, environment, publicUrl })
    const bulk = new BulkRunner(store, control, log)
    const services: Services = {
      store,
      control,
      settings,
      auth,
      live,
      bulk,
      log,
      delivery,
      audit: new Audit(store),
      enqueuer: new Enqueuer(store),
      payloads: createPayloadValidation({ store, log }),
      failedAttempts: new FailedAttempts(),
      searches: new SearchBudget(config.searchesPerToken),
      publicUrl,
    }
    const { adminToken } = await auth.bootstrap()
    await control.alertRules.addDefaults()
    const { appDir, corsOrigins, trustProxy, ratePerToken, ratePerAddress } = config
    const app = await createServer(services, {
      appDir,
      corsOrigins,
      trustProxy,
      limits: { perToken: ratePerToken, perAddress: ratePerAddress },
    })
    const url = await listen(app, config)
    const retention = new Retention({ store, control }, log)
    const gauges = new GaugeRecorder(store, log)
    const notify = delivery.notify.bind(delivery)
    const alerts = new AlertEvaluator({ store, control, notify, log })
    if (background) for (const duty of [retention, bulk, delivery, gauges, alerts]) duty.start()
    let closed: Promise<void> | undefined
    const close = async () => {
      await closeServer(app, live)
      auth.close()
      await alerts.close()
      await delivery.close()
      await Promise.all([retention.close(), bulk.close()])
      await gauges.close()
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
