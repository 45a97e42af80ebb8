import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Record<string, string>
  readonly cwd?: string
  readonly input?: string
}

/** Runs the file of a program to its end. The environment is only what is given. */
export function runProgramFile(
  file: string,
  args: readonly string[],
  { env = {}, cwd, input = '' }: RunOptions = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [file, ...args], { env, cwd }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
    // A process that does not read may be gone before it is written to.
    child.stdin?.on('error', () => {}).end(input)
  })
}

type Line = Record<string, unknown> & { readonly msg: string }

/** A process whose log, lines of JSON, is read line by line. */
export interface Started {
  readonly child: ChildProcess
  readonly lines: Line[]
  /** The first line with this text, now or later. */
  said(text: string): Promise<Line>
  readonly exit: Promise<number | NodeJS.Signals>
}

export function startProgramFile(
  file: string,
  args: readonly string[],
  { env, cwd }: Pick<RunOptions, 'env' | 'cwd'>,
): Started {
  const child = spawn(process.execPath, [file, ...args], { env, cwd, stdio: ['ignore', 'pipe', 'inherit'] })
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
