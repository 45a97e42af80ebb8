import { OncueError } from '@oncue/core'
import { openStore, type Store } from '@oncue/db'
import { EXIT } from '@oncue/db/cli'
import { createLogger } from '@oncue/logger'
import { type Logger, withTimeout } from '@oncue/runtime'
import { createMetrics, type Metrics, serveMetrics } from '../observability/metrics.ts'
import { tracing } from '../observability/tracing.ts'
import { closeModules, setUpModules, toOnFailed } from '../run/module-hooks.ts'
import { type LoadedModules, loadModules } from '../run/modules.ts'
import { startWorker } from '../worker.ts'
import type { WorkerCall } from './command.ts'
import { createGuard } from './guard.ts'

export async function runWorker(call: WorkerCall): Promise<undefined> {
  const { config, options, url, schema } = call
  const log = createLogger({ level: config.logLevel, ...(options.json && { pretty: false }) })
  const modules = await loadModulesOf(call)
  const store = await openStore(url, {
    schema,
    onNewer: (newer) =>
      log.warn({ newer }, 'the database was migrated by a newer version of Oncue; finish the upgrade'),
  })
  const code = await runModules(call, modules, store, log).finally(() => ending(store.close()))
  // Whatever the modules have open (pools, timers, a handler that was given up) must not keep the process.
  process.exit(code)
}

/** How long the end of the process waits for a database or a module that does not respond. */
const END_MS = 3_000

async function ending(work: Promise<unknown>): Promise<void> {
  await withTimeout<unknown>(work, END_MS, () => undefined)
}

/** What is typed means the folder it is typed in, what the environment says that of the process. */
export function loadModulesOf({ config, options }: WorkerCall): Promise<LoadedModules> {
  return options.import
    ? loadModules(options.import, config.callerFolder)
    : loadModules(config.imports, config.folder)
}

/** Runs a worker on an open store, until a signal or an error stops it. Returns the exit code. */
export async function runModules(
  call: WorkerCall,
  modules: LoadedModules,
  store: Store,
  log: Logger,
): Promise<number> {
  await setUpModules(modules.hooks, log)
  return work(call, modules, store, log).finally(() => ending(closeModules(modules.hooks, log)))
}

async function work(
  { config, options, database }: WorkerCall,
  modules: LoadedModules,
  store: Store,
  log: Logger,
): Promise<number> {
  const guard = createGuard(log)
  log.info({ database, modules: modules.urls }, 'starting')
  const metrics = await startMetrics(options.metricsPort ?? config.metricsPort, config.metricsHost, log)
  const graceMs = options.grace ?? config.graceMs
  const worker = await startWorker({
    store,
    workers: modules.workers,
    modules: modules.urls,
    service: options.service ?? config.service,
    queues: options.queues ?? config.queues,
    concurrency: options.concurrency ?? config.concurrency,
    pollMs: options.poll ?? config.pollMs,
    leaseMs: options.lease ?? config.leaseMs,
    graceMs,
    retry: config.retry,
    use: [guard.middleware, tracing, ...(metrics ? [metrics.middleware] : []), ...modules.middleware],
    onSettled: metrics?.onSettled,
    onFailed: toOnFailed(modules.hooks),
    log,
    maintenance: { retention: config.retention },
  })
  metrics?.watch(worker)
  const stopped = guard.stopWhenAsked(worker, graceMs)
  if (!options.once) return stopped
  const drained = worker
    .drain()
    .then(() => worker.stop())
    .then(() => EXIT.done)
  const code = await Promise.race([drained, stopped])
  const { retry, fail } = worker.stats().settled
  return code === EXIT.done && retry + fail > 0 ? EXIT.incomplete : code
}

async function startMetrics(
  port: number | undefined,
  host: string | undefined,
  log: Logger,
): Promise<Metrics | null> {
  if (port === undefined) return null
  const metrics = createMetrics()
  try {
    const { url } = await serveMetrics({ metrics, port, host })
    log.info({ url: `${url}/metrics` }, 'serving metrics')
  } catch (cause) {
    const message = `cannot serve metrics on port ${port}: ${(cause as Error).message}`
    throw new OncueError('INVALID_INPUT', message, { cause, hint: 'Choose another --metrics-port.' })
  }
  return metrics
}
