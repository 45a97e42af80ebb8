import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** A command that runs until it is stopped, and its output. */
export class Launched {
  readonly process: ChildProcess
  output = ''
  /** A mark in the environment of everything that it starts, whatever process group or parent they choose. */
  readonly #mark = `ONCUE_LAUNCH=${randomUUID()}`
  readonly #closed: Promise<unknown>

  /** In a process group of its own, as a shell would start it. */
  constructor(command: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
    const [name = '', value] = this.#mark.split('=')
    this.process = spawn(command, args, {
      ...{ cwd: options.cwd, env: { ...options.env, [name]: value } },
      ...{ detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    })
    this.#closed = once(this.process, 'close')
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
        this.process.emit('output')
      })
    }
  }

  /** Waits until it has printed this. If it ends without, its output is the error. */
  async says(pattern: RegExp): Promise<void> {
    let isOver = false
    const over = this.#closed.then(() => {
      isOver = true
    })
    while (!pattern.test(this.output)) {
      if (isOver) throw new Error(`it ended without ${pattern}:\n${this.output}`)
      await Promise.race([over, once(this.process, 'output')])
    }
  }

  /** Waits for its end. Returns the exit code, and all its output. */
  async ends(): Promise<{ code: number | null; output: string }> {
    await this.#closed
    return { code: this.process.exitCode, output: this.output }
  }

  /** Signals its whole group, as a terminal does with Ctrl-C. */
  signal(name: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-(this.process.pid ?? 0), name)
    } catch {
      return false
    }
  }

  /** Its processes that still run. */
  left(): string[] {
    if (!existsSync('/proc/self/environ')) return this.signal(0) ? ['its process group'] : []
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    const marked = pids.filter((pid) => read(pid, 'environ').split('\0').includes(this.#mark))
    return marked.map((pid) => read(pid, 'cmdline').replaceAll('\0', ' '))
  }
}

/** Reads a file of a process that may be gone, or belong to another user. */
function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
