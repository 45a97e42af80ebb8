import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { prepareJob } from '@oncue/core'
import { openStore, type Store } from '@oncue/db'
import { exitCodeOf } from '@oncue/db/cli'
import { createDatabase, DIALECTS, type Dialect, type TestDatabase } from '@oncue/db/testing'
import { type Outcome, Program, type RunOptions, runProgramFile } from '@oncue/testing'
import type { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import { createOncue } from '../src/program.ts'

// The environment of the tests may ask for colours.
vi.stubEnv('FORCE_COLOR', '0')

export const PROGRAM = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export const WORKER = '3b7d4e0e-6a53-4c7f-9d39-0f6f1d1f7a01'
export const ERROR = { class: 'TypeError', message: 'no such user', fingerprint: 'aaaaaaaaaaaaaaaa' }

/** The same specification on both databases. */
export function describeBoth(title: string, body: (bench: Bench) => void): void {
  for (const dialect of DIALECTS) {
    describe(`${title}, on ${dialect}`, () => body(new Bench(dialect)))
  }
}

/** A database for each test of a `describe`, a store on it, and `oncue` called on it. */
export class Bench {
  #database: TestDatabase | undefined
  #stores: Store[] = []

  constructor(dialect: Dialect) {
    beforeEach(async () => {
      this.#database = await createDatabase(dialect)
      this.#stores = [await openStore(this.url)]
    })
    afterEach(async () => {
      for (const store of this.#stores) await store.close()
      await this.#database?.drop()
    })
  }

  get url(): string {
    return this.#database?.url ?? ''
  }

  get store(): Store {
    const [store] = this.#stores
    if (!store) throw new Error('there is a store only while a test runs')
    return store
  }

  /** The text that a command prints for people. */
  async text(...args: string[]): Promise<string> {
    return (await call(...args, '--url', this.url)).stdout
  }

  async json(args: readonly string[], code = 0) {
    const outcome = await call(...args, '--url', this.url, '--json')
    expect(outcome).toMatchObject({ code })
    return JSON.parse(outcome.stdout)
  }

  async add(topic = 'mail', options = {}): Promise<string> {
    const [id = ''] = await this.store.enqueue([prepareJob(topic, { user: 7 }, options)])
    return id
  }

  async failOne(): Promise<string> {
    const id = await this.add('mail', { maxRetries: 0 })
    const { jobs } = await this.store.claim({
      queues: ['default'],
      limit: 1,
      worker: WORKER,
      leaseMs: 30_000,
    })
    await this.store.settle(jobs.map((job) => ({ id: job.id, run: job.run, kind: 'fail', error: ERROR })))
    return id
  }

  /** A store whose clock is that much earlier. */
  async storeOf(agoMs: number): Promise<Store> {
    const past = await openStore(this.url, { clock: () => new Date(Date.now() - agoMs) })
    this.#stores.push(past)
    return past
  }

  async attend(info: { pid: number; queues: string[] }, agoMs: number): Promise<void> {
    const past = await this.storeOf(agoMs)
    await past.attend({ id: randomUUID(), host: 'web-1', concurrency: 10, version: '0', ...info })
  }

  /** The findings of doctor, by the name of the check. */
  async diagnose() {
    const { findings } = await this.json(['doctor'])
    return (check: string) => findings.find((finding: { check: string }) => finding.check === check)
  }
}

/** The same in this process, which takes a tenth of the time: for commands that read no environment and no input. */
export const call = (...args: string[]): Promise<Outcome> => callAloud(args, () => {})

/** The same, for a command that keeps running: `hear` gets its messages to people as they are printed. */
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

/** One call of `oncue` in a process of its own, to its end. Its environment has only the given variables. */
export const run = (args: readonly string[], options?: RunOptions): Promise<Outcome> =>
  runProgramFile(PROGRAM, args, options)

/** One call of `oncue` on a pseudo-terminal, which answers its question. Returns what the terminal shows. */
export async function runOnTerminal(
  args: readonly string[],
  question: string,
  answer: string,
  cwd?: string,
): Promise<{ code: number; output: string }> {
  const command = [process.execPath, PROGRAM, ...args]
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  // The two programs of this name take the command in their own way.
  const asked = process.platform === 'linux' ? ['-qec', quoted, '/dev/null'] : ['-q', '/dev/null', ...command]
  const child = spawn('/usr/bin/script', asked, { cwd, env: { TERM: 'dumb', NO_COLOR: '1' }, stdio: 'pipe' })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const wasAsked = output.includes(question)
    output += text.replaceAll('\r\n', '\n')
    if (!wasAsked && output.includes(question)) child.stdin.write(`${answer}\n`)
  })
  const [code] = await once(child, 'close')
  return { code, output }
}

/** `oncue worker`, or another command that keeps running and logs JSON. */
export const start = (args: readonly string[], env: Record<string, string>, cwd?: string): Program =>
  new Program(PROGRAM, [...args, '--json'], { env, ...(cwd !== undefined && { cwd }) })
