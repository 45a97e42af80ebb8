import type { Command } from 'commander'
import { splitList } from '../config.ts'
import { toDuration, toList, toService, toWhole } from './arguments.ts'
import { type Call, implement } from './command.ts'

export interface RunOptions {
  readonly import?: string[]
  readonly service?: string
  readonly queues?: string[]
  readonly concurrency?: number
  readonly once?: true
  readonly poll?: number
  readonly lease?: number
  readonly grace?: number
  readonly metricsPort?: number
}

const EXAMPLES = [
  '--import ./jobs.ts',
  '--import ./jobs.ts --queues high,default --concurrency 5',
  '--import ./jobs.ts --once --json',
]

/** The program itself is the worker; `run` is for those who like to say so. */
export function addRun(program: Command): void {
  addOptions(program)
  addOptions(program.command('run').description('run the worker (the default)'))
}

function addOptions(command: Command): void {
  command
    .option('--import <module>', 'a module that exports `workers`; more than once  [ONCUE_IMPORT]', toList)
    .option(
      '--service <name>',
      'what it is a part of: schedules in code belong to it; the name in package.json  [ONCUE_SERVICE]',
      toService,
    )
    .option('--queues <names>', 'in order of preference: high,default  [ONCUE_QUEUES]', splitList)
    .option('--concurrency <number>', 'jobs at once, 10  [ONCUE_CONCURRENCY]', toWhole(1, 1_000))
    .option('--once', 'run what is due, then stop; exit code 3 if a run failed')
    .option('--poll <time>', 'how often to look without being told, 1s  [ONCUE_POLL_INTERVAL]', toDuration)
    .option(
      '--lease <time>',
      'how long a run owns its job without a heartbeat, 30s  [ONCUE_LEASE]',
      toDuration,
    )
    .option('--grace <time>', 'how long to wait for running jobs at the end, 30s  [ONCUE_GRACE]', toDuration)
    .option(
      '--metrics-port <port>',
      'serve /metrics for Prometheus  [ONCUE_METRICS_PORT]',
      toWhole(0, 65_535),
    )
  // Imported only here: the other commands start faster without a worker.
  const run = async (call: Call<RunOptions>) => (await import('./run-worker.ts')).runWorker(call)
  // Its log says which database it uses.
  implement<RunOptions>(command, EXAMPLES, run, { saysDatabase: false })
}
