import { fileURLToPath } from 'node:url'
import { exitCodeOf } from '@oncue/db/cli'
import {
  borrowPostgresDatabase,
  createSqliteDatabase,
  type Outcome,
  type RunOptions,
  runProgramFile,
  type Started,
  startProgramFile,
  type TestDatabase,
} from '@oncue/db/testing'
import type { Command } from 'commander'
import { inject, vi } from 'vitest'
import { createOncue } from '../src/program.ts'

// Whatever runs the tests may have asked for colours.
vi.stubEnv('FORCE_COLOR', '0')

export const PROGRAM = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export const DATABASES: readonly (readonly [name: string, create: () => Promise<TestDatabase>])[] = [
  ['Postgres', () => borrowPostgresDatabase(inject('postgresUrl'))],
  ['SQLite', createSqliteDatabase],
]

/** The same in this process, which takes a tenth of the time: for what reads no environment and no input. */
export const call = (...args: string[]): Promise<Outcome> => callAloud(args, () => {})

/** The same, for what goes on: `hear` gets what it says to people as it says it. */
export async function callAloud(args: readonly string[], hear: (text: string) => void): Promise<Outcome> {
  const said = { stdout: '', stderr: '' }
  const program = createOncue()
  const listen = (command: Command) => {
    command.configureOutput({
      writeOut: (text) => {
        said.stdout += text
      },
      writeErr: (text) => {
        said.stderr += text
        hear(text)
      },
    })
    command.commands.forEach(listen)
  }
  listen(program)
  const code = await program.parseAsync([...args], { from: 'user' }).then(() => 0, exitCodeOf)
  return { code, ...said }
}

/** One call of `oncue` in a process of its own, to its end. The environment is only what is given. */
export const run = (args: readonly string[], options?: RunOptions): Promise<Outcome> =>
  runProgramFile(PROGRAM, args, options)

/** `oncue worker`, or another command that goes on and logs JSON. */
export const start = (args: readonly string[], env: Record<string, string>, cwd?: string): Started =>
  startProgramFile(PROGRAM, [...args, '--json'], { env, ...(cwd !== undefined && { cwd }) })
