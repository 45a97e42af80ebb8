import { Command } from 'commander'
import { addActions } from './actions.ts'
import { addDoctor } from './doctor.ts'
import { addEnqueue } from './enqueue.ts'
import { addList } from './list.ts'
import { addPair } from './pair.ts'
import { addQueues } from './queues.ts'
import { addRun } from './run.ts'
import { addSchedules } from './schedules.ts'
import { addShow } from './show.ts'
import { addStats } from './stats.ts'
import { addTop } from './top.ts'

const HELP = `
Exit codes:
  0        done; a worker: stopped as it should
  1        it failed: the database, an error that nobody caught, a check of doctor, a job that was skipped
  2        wrong usage, a wrong setting, a module that cannot be used
  3        --once: some runs failed
  130, 143 a second signal (Ctrl-C, SIGTERM) made the worker stop at once`

/** Everything that can be typed. */
export function createProgram(): Command {
  const program = new Command('oncue-worker')
    .description('Runs jobs, and looks after the queue. Without a command it runs the worker.')
    .usage('[command] [options]')
    .enablePositionalOptions()
    .allowExcessArguments(false)
    .showHelpAfterError('(--help shows how it is used)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(text),
      writeErr: (text) => process.stderr.write(text),
    })
  for (const add of COMMANDS) add(program)
  // It takes no arguments itself, so the first one was meant to be a command.
  return program
    .allowExcessArguments(true)
    .hook('preAction', (_, acting) => {
      if (acting === program && program.args.length)
        program.error(`error: unknown command '${program.args[0]}'`)
    })
    .addHelpText('after', HELP)
}

const COMMANDS = [
  addRun,
  addEnqueue,
  addList,
  addShow,
  addActions,
  addStats,
  addQueues,
  addSchedules,
  addPair,
  addDoctor,
  addTop,
]
