import { declareApi } from '@oncue/api/command'
import { addCommonOptions, addExamples, createProgram, declareMigrate } from '@oncue/db/cli'
import { declareWorker } from '@oncue/worker/command'
import type { Command } from 'commander'
import { addActions } from './actions.ts'
import { addBulk } from './bulk.ts'
import { addCheck } from './check.ts'
import { addDev } from './dev.ts'
import { addDoctor } from './doctor.ts'
import { addEnqueue } from './enqueue.ts'
import { addFailures } from './failures.ts'
import { addInit } from './init.ts'
import { addList } from './list.ts'
import { addMcp } from './mcp/command.ts'
import { addPair } from './pair.ts'
import { addQuestions } from './questions.ts'
import { addQueues } from './queues.ts'
import { addSchedules } from './schedules.ts'
import { addShow } from './show.ts'
import { addSignal } from './signal.ts'
import { addStats } from './stats.ts'
import { addTop } from './top.ts'
import { addTree } from './tree.ts'
import { VERSION } from './version.ts'
import { addWorkers } from './workers.ts'

const EXIT_CODES = `
Exit codes:
  0         done
  1         failed: the database, a check of doctor, a skipped job
  2         wrong usage, wrong setting, invalid module
  3         worker --once: some runs failed; migrate --status: not up to date
  130, 143  a second signal (Ctrl-C, SIGTERM) stopped a worker at once`

/** The commands, in the groups of --help. */
const GROUPS: Readonly<Record<string, readonly ((program: Command) => unknown)[]>> = {
  'Run:': [
    (program) => declareWorker(program.command('worker')),
    (program) => declareApi(program.command('api')),
    addDev,
    addMcp,
  ],
  'Inspect:': [addList, addShow, addTree, addFailures, addStats, addWorkers, addTop, addDoctor, addCheck],
  'Manage:': [addEnqueue, addSignal, addQuestions, addActions, addBulk, addQueues, addSchedules],
  'Set up:': [addInit, (program) => declareMigrate(program.command('migrate')), addPair],
}

/** The whole command line. Commands that run processes import their code only when they are called. */
export function createOncue(): Command {
  const program = createProgram('oncue')
    .description('run jobs and manage the queue')
    .usage('<command> [options]')
    .helpCommand(false)
    .configureHelp({ subcommandTerm: termOf })
    .version(VERSION, '--version', 'print the version')
  addCommonOptions(program)
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading)
    for (const add of commands) add(program)
  }
  addExamples(program, [
    'worker --import ./jobs.ts',
    'list --status failed --since 1d',
    'requeue --topic mail_digest --since 2h --yes',
    'doctor',
  ])
  return program.addHelpText('after', EXIT_CODES)
}

/** Its name and its arguments: every command has options. */
const termOf = (command: Command): string =>
  `${command.name()} ${command.usage().replace(/\[(options|command)\] ?/g, '')}`.trimEnd()
