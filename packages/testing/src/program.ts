import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Gate } from './gate.ts'

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

/** Runs the file of a program to its end. Its environment has only the given variables. */
export function runProgramFile(
  file: string,
  args: readonly string[],
  { env = {}, cwd, input = '' }: RunOptions = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [file, ...args], { env, cwd }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
    // A process that does not read its input may be gone before it is written.
    child.stdin?.on('error', () => {}).end(input)
  })
}

type Line = Record<string, unknown> & { readonly msg: string }

/** A running process, and what it prints. Its environment has only the given variables. */
export class Program {
  readonly child: ChildProcess
  /** The code, or the signal, that it ended with. */
  readonly exit: Promise<number | NodeJS.Signals>
  stdout = ''
  stderr = ''
  #printed = new Gate<undefined>()

  constructor(file: string, args: readonly string[], { env, cwd }: Pick<RunOptions, 'env' | 'cwd'>) {
    const child = spawn(process.execPath, [file, ...args], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        this[name] += text
        this.#printed.open(undefined)
        this.#printed = new Gate<undefined>()
      })
    }
    this.child = child
    this.exit = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals)
  }

  /** The complete lines of its log. */
  get lines(): Line[] {
    const lines = this.stdout.split('\n').slice(0, -1)
    return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line)
  }

  /** The first line of its log with this text, now or later. */
  async said(text: string): Promise<Line> {
    const ended = this.exit.then((code) => `it ended with ${code}`)
    for (let end: string | undefined; ; ) {
      const printed = this.#printed.opened
      const line = this.lines.find(({ msg }) => msg.includes(text))
      if (line) return line
      if (end) throw new Error(`${end} and never said "${text}": ${this.stdout}${this.stderr}`)
      end = await Promise.race([printed, ended])
    }
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | NodeJS.Signals> {
    this.child.kill(signal)
    return this.exit
  }
}

export interface Folder {
  readonly path: string
  write(name: string, text: string): Promise<string>
  remove(): Promise<void>
}

/** Modules like those that users write. */
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
