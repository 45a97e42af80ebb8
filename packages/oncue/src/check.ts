import { toList } from '@oncue/db/cli'
import type { Command } from 'commander'
import { implement, withStore } from './command.ts'

export interface CheckOptions {
  readonly against?: string
  readonly import?: string[]
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
    ],
    withStore('checking', async (store, call) => (await import('./run-check.ts')).runCheck(store, call)),
  )
}
