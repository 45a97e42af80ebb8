import { openStore, type Store } from '@oncue/db'
import { type Logger, type Runtime, type SlowService, startAll, systemRuntime } from '@oncue/runtime'
import type { FastifyInstance } from 'fastify'
import { AlertEvaluator } from './alerts/evaluator.ts'
import { Audit } from './audit.ts'
import { createAuth } from './auth/auth.ts'
import { FailedAttempts } from './auth/failed-attempts.ts'
import { createJwtVerifier } from './auth/jwt.ts'
import type { SessionOptions } from './auth/session-routes.ts'
import { createSettings } from './auth/settings.ts'
import { BulkRunner } from './bulk/runner.ts'
import type { Config } from './config.ts'
import type { Services } from './context.ts'
import { openControl } from './control.ts'
import { Delivery } from './delivery/delivery.ts'
import { Enqueuer } from './enqueue/enqueuer.ts'
import { createPayloadValidation } from './enqueue/payload-validation.ts'
import { RequestIds } from './enqueue/request-ids.ts'
import { DatabaseChecks } from './health/database.ts'
import { GaugeRecorder } from './health/gauge-recorder.ts'
import { createHttpServices, type HttpServices } from './http/lifecycle.ts'
import { createServer } from './http/server.ts'
import { Live } from './live/live.ts'
import { SearchBudget } from './procedures/search-budget.ts'
import { Retention } from './retention.ts'

export interface Api {
  /** Where it listens. */
  readonly url: string
  readonly services: Services
  /** Created at the first start; null afterwards, and when it was configured. */
  readonly adminToken: string | null
  /** Accepts no more connections, ends streams, finishes requests, then stops the rest. A second call waits for the first. */
  close(): Promise<void>
}

export interface StartOptions extends SessionOptions {
  /** False: it only serves requests, and leaves alerts, notifications, bulk operations and retention to other processes. */
  readonly background?: boolean | undefined
  /**
   * Aborted while it starts: gives up what it waits for, stops what has started, and rejects with the signal's reason. To
   * be aborted only while it starts, because that cuts the connections to the database.
   */
  readonly signal?: AbortSignal | undefined
  /** For tests: replaces the clock, timers and chance. */
  readonly runtime?: Runtime | undefined
}

/** Opens the store, and serves it until `close`. */
export async function startApi(config: Config, log: Logger, options: StartOptions = {}): Promise<Api> {
  const { runtime = systemRuntime } = options
  let url = () => ''
  const { services, close } = await start(config, log, options, (app) => {
    const http = createHttpServices(app, config, runtime)
    url = () => http.url
    return http
  })
  try {
    // A new token is shown once: it would be lost if the start failed after it was stored.
    const { adminToken } =
      config.adminToken === undefined ? await services.auth.bootstrap() : { adminToken: null }
    return { url: url(), services, adminToken, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The two ends of what brings requests: a server of its own, or the application that it is mounted in. */
type Door = Pick<HttpServices, 'connections' | 'requests'>

/** Everything behind the door. */
export async function start(
  config: Config,
  log: Logger,
  {
    background = true,
    signal,
    runtime = systemRuntime,
    ...serving
  }: StartOptions & { readonly basePath?: string },
  openDoor: (app: FastifyInstance) => Door,
): Promise<{ readonly services: Services; close(): Promise<void> }> {
  const store = await openStore(config.databaseUrl, {
    schema: config.schema,
    runtime,
    signal,
    onNewer: (newer) =>
      log.warn({ newer }, 'the database was migrated by a newer version of Oncue; finish the upgrade'),
  })
  const { services, app } = await create(store, config, log, runtime, serving).catch(async (error) => {
    await store.close()
    throw error
  })
  const { control, live, bulk, delivery, audit, auth } = services
  const loops = [
    new Retention({ store, control, log, runtime }),
    bulk,
    delivery,
    new GaugeRecorder({ store, log, runtime }),
    new AlertEvaluator({ store, control, log, runtime, notify: (it) => delivery.notify(it) }),
  ]
  const door = openDoor(app)

  // The order of the start; the end has the reverse one. So no new connection is accepted while streams end, no loop stops
  // before the requests that may need it, and the store is closed when everything that writes has stopped.
  const close = await startAll(
    [
      stopOnly(() => store.close()),
      audit,
      ...loops.map((loop) => (background ? loop : stopOnly(() => loop.stop()))),
      door.requests,
      live,
      stopOnly(() => auth.stop()),
      door.connections,
    ],
    signal,
  )
  return { services, close }
}

/** Nothing to start, or started already. */
function stopOnly(stop: () => Promise<void>): SlowService {
  return { start() {}, stop }
}

/** Everything but what starts. */
async function create(
  store: Store,
  config: Config,
  log: Logger,
  runtime: Runtime,
  { signInLinks, basePath }: Pick<StartOptions, 'signInLinks'> & { readonly basePath?: string },
) {
  const { environment, publicUrl, ratePerToken: perToken, ratePerAddress: perAddress } = config
  const control = await openControl(store)
  const settings = createSettings(control, config.settings, runtime)
  const verifyJwt = config.jwt ? createJwtVerifier(config.jwt, runtime) : null
  const auth = createAuth({ store, settings, verifyJwt, adminToken: config.adminToken ?? null, runtime })
  // A configured token is valid from the first request on.
  if (config.adminToken !== undefined) await auth.bootstrap()
  await control.alertRules.addDefaults()
  const services: Services = {
    store,
    control,
    settings,
    auth,
    log,
    runtime,
    publicUrl,
    live: new Live({ store, control, runtime }, environment),
    database: new DatabaseChecks({ url: config.databaseUrl, schema: config.schema, store, runtime }),
    bulk: new BulkRunner({ store, control, log, runtime }),
    delivery: new Delivery({ ...config.delivery, store, control, log, environment, publicUrl, runtime }),
    audit: new Audit(store, runtime),
    enqueuer: new Enqueuer(store, runtime),
    requestIds: await RequestIds.open(store, runtime),
    payloads: createPayloadValidation({ store, log, runtime }),
    failedAttempts: new FailedAttempts(runtime),
    searches: new SearchBudget(config.searchesPerToken, runtime),
  }
  const app = await createServer(services, {
    ...config,
    signInLinks,
    basePath,
    limits: { perToken, perAddress },
  })
  return { services, app }
}
