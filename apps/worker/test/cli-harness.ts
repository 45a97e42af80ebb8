import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { borrowPostgresDatabase, createSqliteDatabase, type TestDatabase } from '@oncue/db/testing'
import type { Command } from 'commander'
import { inject, vi } from 'vitest'
import { exitCodeOf } from '../src/cli/command.ts'
import { createProgram } from '../src/cli/program.ts'

// Whatever runs the tests may have asked for colours.
vi.stubEnv('FORCE_COLOR', '0')

const PROGRAM = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))

export const DATABASES: readonly (readonly [name: string, create: () => Promise<TestDatabase>])[] = [
  ['Postgres', () => borrowPostgresDatabase(inject('postgresUrl'))],
  ['SQLite', createSqliteDatabase],
]

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The same in this process, which takes a tenth of the time: for what reads no environment and no input. */
export const call = (...args: string[]): Promise<Outcome> => callAloud(args, () => {})

/** The same, for what goes on: `hear` gets what it says to people as it says it. */
export async function callAloud(args: readonly string[], hear: (text: string) => void): Promise<Outcome> {
  const said = { stdout: '', stderr: '' }
  const program = createProgram()
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

export interface RunOptions {
  readonly env?: Record<string, string>
  readonly cwd?: string
  readonly input?: string
}

/** One call of the command line, to its end. The environment is only what is given. */
export function run(
  args: readonly string[],
  { env = {}, cwd, input = '' }: RunOptions = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [PROGRAM, ...args], { env, cwd }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
    // A process that does not read may be gone before it is written to.
    child.stdin?.on('error', () => {}).end(input)
  })
}

type Line = Record<string, unknown> & { readonly msg: string }

/** A worker process whose log is read line by line. */
export interface Started {
  readonly child: ChildProcess
  readonly lines: Line[]
  /** The first line with this text, now or later. */
  said(text: string): Promise<Line>
  readonly exit: Promise<number | NodeJS.Signals>
}

export function start(args: readonly string[], env: Record<string, string>): Started {
  const child = spawn(process.execPath, [PROGRAM, '--json', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: Line[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text) as Line)
    for (const look of waiting) look()
  })
  const exit = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals)
  return {
    child,
    lines,
    exit,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = lines.find(({ msg }) => msg.includes(text))
          if (!line) return
          waiting.delete(look)
          resolve(line)
        }
        waiting.add(look)
        look()
        exit.then((code) =>
          reject(new Error(`it ended with ${code} and never said "${text}": ${JSON.stringify(lines)}`)),
        )
      }),
  }
}

export interface Folder {
  readonly path: string
  write(name: string, text: string): Promise<string>
  remove(): Promise<void>
}

/** Modules as users would write them. */
export async function createFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'oncue-modules-'))
  return {
    path,
    async write(name, text) {
      await writeFile(join(path, name), text)
      return join(path, name)
    },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
