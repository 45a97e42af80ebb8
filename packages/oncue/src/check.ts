import { toList } from '@oncue/db/cli'
import type { Command } from 'commander'
import { implement, withStore } from './command.ts'

export interface CheckOptions {
  readonly against?: string
  readonly import?: string[]
  readonly replay?: true
}

export function addCheck(program: Command): void {
  const command = program
    .command('check')
    .summary('compare waiting jobs with the code here')
    .description(
      'compare what waiting and retrying durable jobs have recorded with the names and schemas in the code here, before it is deployed; changes nothing',
    )
    .option('--against <url>', 'the database with the jobs; the same as --url')
    .option('--import <module>', 'a module that exports `workers`; may be repeated  [ONCUE_IMPORT]', toList)
    .option(
      '--replay',
      'also run the handlers of these jobs up to their first new call; code outside of steps is executed',
    )
    .addHelpText('after', REPLAY)
    .addHelpText('after', '\nExit codes: 0 everything fits, 1 something would be lost or no longer fits')
    .hook('preAction', (checked) => {
      const { against } = checked.opts<CheckOptions>()
      if (against !== undefined) checked.setOptionValue('url', against)
    })
  implement<CheckOptions>(
    command,
    [
      '--against postgres://… --import ./jobs.ts',
      '--against file:./.data/oncue.db --import ./jobs.ts --json',
      '--against postgres://… --import ./jobs.ts --replay',
    ],
    withStore('checking', async (store, call) => (await import('./run-check.ts')).runCheck(store, call)),
  )
}

const REPLAY = `
With --replay the modules, their middleware and the code of handlers that is outside of steps are EXECUTED, in child
processes: without environment variables and network, as far as Node can close them, and without writing files or
starting processes. Calls of ctx return what is recorded; the first one that is not recorded ends the replay. No work of
a step runs, and nothing is written to the database. It protects from mistakes, not from code that you do not trust.`
