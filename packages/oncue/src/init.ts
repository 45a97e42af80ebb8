import { implementRemote } from '@oncue/db/cli'
import { type Config, readConfig } from '@oncue/worker/command'
import type { Command } from 'commander'

export interface InitOptions {
  readonly yes?: true
  readonly dryRun?: true
}

export function addInit(program: Command): void {
  implementRemote<InitOptions, Config>(
    program
      .command('init')
      .summary('add Oncue to this project')
      .description(
        'add Oncue to the project in this folder: a file with jobs and one with handlers, scripts and dependencies in package.json; shows every change and asks before it writes; replaces no file',
      )
      .option('--yes', 'do it without asking')
      .option('--dry-run', 'show the changes; write nothing'),
    {
      ...{ examples: ['', '--dry-run', '--yes --json'], readConfig },
      run: async (call) => (await import('./run-init.ts')).runInit(call),
    },
  )
}
