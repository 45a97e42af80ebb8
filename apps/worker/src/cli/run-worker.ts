import { once } from 'node:events'
import { OncueError } from '@oncue/core'
import { dialectOf, openStore, type Store } from '@oncue/db'
import { EXIT } from '@oncue/db/cli'
import { createLogger } from '@oncue/logger'
import { abortable, type Logger, type SlowService, startAll, toService, withTimeout } from '@oncue/runtime'
import { shareConnections } from '../connections.ts'
import { createMetrics, type Metrics, serveMetrics } from '../observability/metrics.ts'
import { tracing } from '../observability/tracing.ts'
import { setUpModules, toOnFailed } from '../run/module-hooks.ts'
import { type LoadedModules, loadModules } from '../run/modules.ts'
import { WorkerService } from '../worker.ts'
import type { WorkerCall } from './command.ts'
import { createGuard } from './guard.ts'

export async function runWorker(call: WorkerCall): Promise<undefined> {
  const { config, options, url, schema } = call
  const { poolSize } = connectionsOf(call)
  const log = createLogger({ level: config.logLevel, ...(options.json && { pretty: false }) })
  const code = await runModules(call, log, async (signal) => {
    const store = await openStore(url, {
      schema,
      poolSize,
      signal,
      onNewer: (newer) =>
        log.warn({ newer }, 'the database was migrated by a newer version of Oncue; finish the upgrade'),
    })
    return { store, close: () => store.close() }
  })
  // Whatever the modules have open (pools, timers, a handler that was given up) must not keep the process.
  process.exit(code)
}

interface OpenedStore {
  readonly store: Store
  close(): Promise<void>
}

/**
 * Loads the modules, opens the store, and works until a signal or an error stops it. Returns the exit code. A signal
 * during the start gives up what the start waits for, and stops what has started, in the reverse order.
 */
export async function runModules(
  call: WorkerCall,
  log: Logger,
  open: (signal: AbortSignal) => Promise<OpenedStore>,
): Promise<number> {
  const { config, options, database } = call
  const graceMs = options.grace ?? config.graceMs
  const guard = createGuard(log, graceMs)
  const { stopping, atOnce } = guard
  const metricsPort = options.metricsPort ?? config.metricsPort
  const metrics = metricsPort === undefined ? null : createMetrics()
  let modules: LoadedModules
  let opened: OpenedStore
  let worker: WorkerService | undefined
  const services = (starting: AbortSignal): SlowService[] => [
    {
      async start() {
        modules = await loadModulesOf(call)
        // Before the store is opened: an error about a database is read with the database it is about.
        log.info({ database, modules: modules.urls }, 'starting')
      },
      async stop() {},
    },
    responsive(async () => {
      opened = await open(starting)
      return () => opened.close()
    }),
    responsive(() => setUpModules(modules.hooks, log, stopping)),
    {
      async start() {
        if (metrics && metricsPort !== undefined) await serve(metrics, metricsPort, config.metricsHost, log)
      },
      async stop() {},
    },
    {
      start() {
        worker = new WorkerService({
          store: opened.store,
          workers: modules.workers,
          modules: modules.urls,
          service: options.service ?? config.service,
          version: options.release ?? config.version,
          queues: options.queues ?? config.queues,
          concurrency: options.concurrency ?? config.concurrency,
          pollMs: options.poll ?? config.pollMs,
          maxPollMs: options.pollMax ?? config.maxPollMs,
          leaseMs: options.lease ?? config.leaseMs,
          lease: connectionsOf(call).lease,
          graceMs,
          retry: config.retry,
          use: [guard.watchJobs(), tracing, ...(metrics ? [metrics.middleware] : []), ...modules.middleware],
          onSettled: metrics?.onSettled,
          onFailed: toOnFailed(modules.hooks),
          log,
          maintenance: { retention: config.retention },
        })
        metrics?.watch(worker)
        return worker.start()
      },
      async stop() {
        atOnce.addEventListener('abort', () => worker?.stop({ graceMs: 0 }).catch(() => {}))
        await worker?.stop(atOnce.aborted ? { graceMs: 0 } : {})
      },
    },
  ]

  let stop: () => Promise<void>
  try {
    stop = await abortable(stopping, (starting) => startAll(services(starting), starting))
  } catch (error) {
    if (error !== stopping.reason) throw error
    log.info({}, 'stopped before the worker had started')
    return guard.code
  }
  await Promise.race([once(stopping, 'abort'), ...(options.once ? [worker?.drain()] : [])])
  try {
    await stop()
  } catch (err) {
    log.error({ err }, 'worker did not stop cleanly')
    return EXIT.failed
  }
  const { retry = 0, fail = 0 } = worker?.stats().settled ?? {}
  return options.once && guard.code === EXIT.done && retry + fail > 0 ? EXIT.incomplete : guard.code
}

/** How long the end of the process waits for a database or a module that does not respond. */
const END_MS = 3_000

/** A service whose stop takes at most END_MS. */
function responsive(open: Parameters<typeof toService>[0]): SlowService {
  const { start, stop } = toService(open, END_MS)
  return { start, stop: () => withTimeout(stop(), END_MS, () => undefined) }
}

const connectionsOf = ({ url, config, options }: WorkerCall) =>
  url !== ':memory:' && dialectOf(url) === 'postgres'
    ? shareConnections(options.connections ?? config.connections)
    : {}

/** Paths on the command line start at the caller's folder, those in variables at that of the process. */
function loadModulesOf({ config, options }: WorkerCall): Promise<LoadedModules> {
  return options.import
    ? loadModules(options.import, config.callerFolder)
    : loadModules(config.imports, config.folder)
}

async function serve(metrics: Metrics, port: number, host: string | undefined, log: Logger): Promise<void> {
  try {
    const { url } = await serveMetrics({ metrics, port, host })
    log.info({ url: `${url}/metrics` }, 'serving metrics')
  } catch (cause) {
    const isUsed = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const why = isUsed ? 'it is already in use' : (cause as Error).message
    const message = `Cannot serve metrics on port ${port}: ${why}`
    throw new OncueError('INVALID_INPUT', message, { cause, hint: 'Choose another --metrics-port.' })
  }
}
