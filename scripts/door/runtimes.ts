import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Place } from './place.ts'

export const name = 'runtimes'
export const summary =
  'client, queue and worker on Node 22, 24 and 26, Bun and Deno; with and without better-sqlite3'

const execute = promisify(execFile)

interface Runtime {
  readonly name: string
  /** From npm, and the program in it. */
  readonly package: string
  readonly program: string
  readonly args?: readonly string[]
  /** Where SQLite does not work, the error that says so. */
  readonly withBetterSqlite3?: string
  readonly withoutBetterSqlite3?: string
  /** What becomes of a job with `isolate.memoryMb` that takes too much. */
  readonly limit?: RegExp
}

const NODE = `node-${process.platform}-${process.arch}`

function node(version: string, rest: Partial<Runtime> = {}): Runtime {
  const program = `node_modules/${NODE}/bin/node`
  return { name: `Node ${version}`, package: `${NODE}@${version}`, program, ...rest }
}

const RUNTIMES: readonly Runtime[] = [
  node('22.13', { withBetterSqlite3: 'UNSUPPORTED_NODE', withoutBetterSqlite3: 'UNSUPPORTED_NODE' }),
  node('22.14', { withoutBetterSqlite3: 'SQLITE_DRIVER_MISSING' }),
  node('22.16'),
  node('22'),
  node('24'),
  node('26'),
  {
    name: 'Bun',
    package: 'bun@1',
    program: 'node_modules/.bin/bun',
    limit: /^UNSUPPORTED_RUNTIME: hungry is defined with isolate\.memoryMb/,
  },
  {
    name: 'Deno',
    package: 'deno@2',
    program: 'node_modules/.bin/deno',
    args: ['run', '--allow-all', '--node-modules-dir=manual'],
    withoutBetterSqlite3: 'SQLITE_DRIVER_MISSING',
  },
]

const TRIAL_MS = 60_000
const TOKEN = `oncue_${'runtimes'.padEnd(43, '0')}`

export async function run(place: Place): Promise<void> {
  const withDriver = await installProject(place, 'with')
  const without = await installProject(place, 'without', '--omit=optional')
  place.done('installed')
  const postgres = await place.postgresUrl()
  // A database of its own: the worker beside it would run what others are to run.
  const api = await startApi(place, withDriver, `file:${join(place.folder, 'api.db')}`)
  try {
    for (const runtime of RUNTIMES) {
      const trial = await installRuntime(place, runtime)
      const file = (of: string) => `file:${join(place.folder, `${runtime.name}-${of}.db`)}`
      await tryClient(trial, withDriver, api.url)
      await tryDatabase(trial, withDriver, postgres, 'pg')
      await expectOutput(trial(withDriver, 'limit', postgres), runtime.limit ?? /^failed WORKER_CRASHED$/m)
      for (const [project, missing, library] of [
        [withDriver, runtime.withBetterSqlite3, 'better-sqlite3'],
        [without, runtime.withoutBetterSqlite3, 'node:sqlite'],
      ] as const) {
        if (missing === undefined) await tryDatabase(trial, project, file(library.slice(0, 4)), library)
        else await expectOutput(trial(project, 'queue', file('none')), new RegExp(`^${missing}: `))
      }
      const sqlite = [
        runtime.withBetterSqlite3 ?? 'better-sqlite3',
        runtime.withoutBetterSqlite3 ?? 'node:sqlite',
      ]
      place.done(`${runtime.name}: client, queue and worker on Postgres; on SQLite: ${sqlite.join(', ')}`)
    }
  } finally {
    await api.stop()
  }
}

async function installProject({ folder, npm }: Place, name: string, ...flags: string[]): Promise<string> {
  const project = join(folder, name)
  await cp(join(import.meta.dirname, 'on-runtimes'), project, { recursive: true })
  await npm(project, 'init', '--yes')
  await npm(project, 'pkg', 'set', 'type=module')
  await npm(project, 'install', 'oncue', 'zod', 'pg', ...flags)
  return project
}

/** Runs a trial in a project. Resolves with what it printed, whether or not it failed. */
interface Trial {
  (project: string, ...args: string[]): Promise<string>
  /** Starts one that does not end by itself. */
  start(project: string, ...args: string[]): ReturnType<typeof spawn>
}

async function installRuntime({ folder, env, npm }: Place, runtime: Runtime): Promise<Trial> {
  const home = join(folder, runtime.package.replaceAll(/\W+/g, '-'))
  await mkdir(home)
  await npm(home, 'init', '--yes')
  await npm(home, 'install', runtime.package)
  const program = join(home, runtime.program)
  const command = (args: string[]) => [...(runtime.args ?? []), 'trial.js', ...args]
  const trial = async (project: string, ...args: string[]) => {
    const options = { cwd: project, env: { ...env }, timeout: TRIAL_MS }
    const { stdout, stderr } = await execute(program, command(args), options).catch((error) => {
      if (error.killed) throw new Error(`${runtime.name}: ${args.join(' ')} did not end: ${error.stderr}`)
      return error as { stdout: string; stderr: string }
    })
    if (stderr.includes('ExperimentalWarning')) throw new Error(`${runtime.name} warned: ${stderr}`)
    return stdout
  }
  const start = (project: string, ...args: string[]) =>
    spawn(program, command(args), { cwd: project, env: { ...env }, stdio: ['ignore', 'pipe', 'ignore'] })
  return Object.assign(trial, { start })
}

async function expectOutput(printed: Promise<string>, expected: string | RegExp): Promise<void> {
  const text = await printed
  const isExpected = typeof expected === 'string' ? text === `${expected}\n` : expected.test(text)
  if (!isExpected) throw new Error(`expected ${expected}, got ${text}`)
}

async function tryDatabase(trial: Trial, project: string, url: string, library: string): Promise<void> {
  await expectOutput(trial(project, 'queue', url), `${library}: pending, not there`)
  await expectOutput(trial(project, 'work', url), '300 of 300, each once; Hello, worker; isolated: yes')
  // Killed: another worker takes over, by the next run.
  const endless = await hold(trial, project, url, 'endless')
  endless.child.kill('SIGKILL')
  await endless.ended
  await expectOutput(trial(project, 'takeOver', url, endless.id), 'completed by run 2')
  // Blocked for three leases, beside a worker that would take over: its thread keeps the lease.
  const blocked = await hold(trial, project, url, 'blocked')
  await expectOutput(trial(project, 'takeOver', url, blocked.id), 'completed by run 1')
  blocked.child.kill('SIGKILL')
  await blocked.ended
  // Blocked past its timeout: its thread settles the job and kills the process.
  const stuck = await hold(trial, project, url, 'stuck')
  const [, signal] = await stuck.ended
  if (signal !== 'SIGKILL') throw new Error(`a process with a stuck handler ended by ${signal}`)
  await expectOutput(trial(project, 'look', url, stuck.id), 'failed JOB_TIMEOUT')
}

/** A process whose worker runs a job of this topic. */
async function hold(trial: Trial, project: string, url: string, topic: string) {
  const child = trial.start(project, 'hold', url, topic)
  const ended = once(child, 'exit')
  const timer = setTimeout(() => child.kill('SIGKILL'), TRIAL_MS)
  void ended.then(() => clearTimeout(timer))
  if (!child.stdout) throw new Error('no standard output')
  for await (const line of createInterface(child.stdout)) {
    const [, id] = /^running (\S+)$/.exec(line) ?? []
    if (id) return { child, id, ended }
  }
  throw new Error(`no worker ran ${topic}`)
}

async function tryClient(trial: Trial, project: string, url: string): Promise<void> {
  await expectOutput(trial(project, 'client', url, TOKEN), 'Hello, client; completed')
}

/** The API, and a worker beside it, by this Node. */
async function startApi({ env, done }: Place, project: string, databaseUrl: string) {
  const settings = { ...env, DATABASE_URL: databaseUrl, ONCUE_PORT: '0', ONCUE_ADMIN_TOKEN: TOKEN }
  const options = { cwd: project, env: settings }
  const oncue = join(project, 'node_modules/.bin/oncue')
  await execute(oncue, ['migrate'], options)
  const children = [['api'], ['worker', '--import', './jobs.js']].map((args) =>
    spawn(oncue, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] }),
  )
  const stop = async () => {
    await Promise.all(
      children.map(async (child) => {
        if (child.exitCode !== null) return
        child.kill()
        await once(child, 'exit')
      }),
    )
  }
  const [api] = children
  if (!api) throw new Error('no API')
  for await (const line of createInterface(api.stdout)) {
    const { msg, url } = JSON.parse(line) as { msg: string; url?: string }
    if (msg !== 'API started' || !url) continue
    api.stdout.resume()
    done('API started')
    return { url, stop }
  }
  throw new Error('the API ended')
}
