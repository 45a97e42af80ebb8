import { type Call, implement, refuse, toDuration, toDurationOr, toList, toWhole } from '@oncue/db/cli'
import { splitList } from '@oncue/db/environment'
import type { Command } from 'commander'
import type { z } from 'zod'
import { type Config, readConfig } from '../config.ts'
import { LEAST_CONNECTIONS } from '../connections.ts'
import type { DryRuns } from '../dry-run/dry-runs.ts'
import { LEAST_MAX_POLL_MS } from '../poll.ts'
import type { loadModules } from '../run/modules.ts'
import { serviceSchema, versionSchema } from '../service.ts'

/** The command that runs a worker, as `oncue worker` and as `oncue-worker`. Loads no worker until it is called. */

export { type Config, readConfig }

export interface WorkerCommandOptions {
  readonly import?: string[]
  readonly service?: string
  readonly release?: string
  readonly queues?: string[]
  readonly concurrency?: number
  readonly once?: true
  readonly connections?: number
  readonly poll?: number | 'auto'
  readonly pollMax?: number
  readonly lease?: number
  readonly grace?: number
  readonly metricsPort?: number
}

export type WorkerCall = Call<WorkerCommandOptions, Config>

/** What the command does, for other commands that run a worker too. */
export const importRunner = () => import('./run-worker.ts')

/** The workers of modules, for commands that compare them with what is stored. */
export const importModules = async (...modules: Parameters<typeof loadModules>) =>
  (await import('../run/modules.ts')).loadModules(...modules)

/** For a command that repeats handlers with what is recorded. */
export const startDryRuns = async (...options: ConstructorParameters<typeof DryRuns>) =>
  new (await import('../dry-run/dry-runs.ts')).DryRuns(...options)

const EXAMPLES = [
  '--import ./jobs.ts',
  '--import ./jobs.ts --queues high,default --concurrency 5',
  '--import ./jobs.ts --once --json',
]

const EXIT_CODES = `
Exit codes:
  0         stopped as asked
  1         failed: the database, an uncaught error
  2         wrong usage, wrong setting, invalid module
  3         --once: some runs failed
  130, 143  a second signal (Ctrl-C, SIGTERM) stopped it at once`

function toQueues(value: string): string[] {
  const queues = splitList(value)
  return queues.length > 0 ? queues : refuse('Name at least one queue.')
}

export function declareWorker(command: Command): Command {
  command
    .summary('run jobs')
    .description('run jobs until SIGTERM or SIGINT')
    .option('--import <module>', 'a module that exports `workers`; may be repeated  [ONCUE_IMPORT]', toList)
    .option(
      '--service <name>',
      'the service that owns the schedules in code; default: the name in package.json  [ONCUE_SERVICE]',
      checkedBy(serviceSchema),
    )
    .option(
      '--release <version>',
      'the release of your code, which charts mark; default: the version of Oncue  [ONCUE_VERSION]',
      checkedBy(versionSchema),
    )
    .option(
      '--queues <names>',
      'queues to serve, in order of preference: high,default  [ONCUE_QUEUES]',
      toQueues,
    )
    .option(
      '--concurrency <number>',
      'how many jobs to run at once, 10  [ONCUE_CONCURRENCY]',
      toWhole(1, 1_000),
    )
    .option(
      '--connections <number>',
      'Postgres: how many connections to hold at most, 14  [ONCUE_CONNECTIONS]',
      toWhole(LEAST_CONNECTIONS, 1_000),
    )
    .option('--once', 'run all due jobs, then stop; exit code 3 if a run failed')
    .option(
      '--poll <time>',
      'how often to poll without a wake-up, 1s; auto: rest while nothing is due, so that Postgres may sleep  [ONCUE_POLL]',
      toDurationOr('auto'),
    )
    .option(
      '--poll-max <time>',
      'with --poll auto: poll at least this often, 15m  [ONCUE_POLL_MAX]',
      (text) => {
        const ms = toDuration(text)
        return ms >= LEAST_MAX_POLL_MS ? ms : refuse('Use a time of at least 1m.')
      },
    )
    .option(
      '--lease <time>',
      'how long a run owns its job without a heartbeat, 30s  [ONCUE_LEASE]',
      toDuration,
    )
    .option('--grace <time>', 'how long to wait for running jobs at shutdown, 30s  [ONCUE_GRACE]', toDuration)
    .option(
      '--metrics-port <port>',
      'serve /metrics for Prometheus  [ONCUE_METRICS_PORT]',
      toWhole(0, 65_535),
    )
  return implement<WorkerCommandOptions, Config>(command, {
    examples: EXAMPLES,
    readConfig,
    saysDatabase: false,
    run: async (call) => (await importRunner()).runWorker(call),
  }).addHelpText('after', EXIT_CODES)
}

function checkedBy(schema: z.ZodType<string>): (text: string) => string {
  return (text) => {
    const parsed = schema.safeParse(text)
    return parsed.success ? parsed.data : refuse(`It ${parsed.error.issues[0]?.message}.`)
  }
}
