import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'
import type { Packed } from './packages.ts'
import { compile, install, RESOLUTIONS, type Resolution, versionsOf } from './project.ts'
import type { Server } from './try-client.ts'

const run = promisify(execFile)
const TOKEN = `oncue_${'team'.padEnd(43, '0')}`
const EXPECTED = '3 true'
const EXPECTED_OF_ONE = 'completed Hello, test client function'
const START_MS = 30_000

/** A project of a team: all packages, and its own jobs. */
export async function installTeam(packages: readonly Packed[], folder: string): Promise<void> {
  const ours = packages.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`])
  // The oldest zod that they support.
  const zod = packages[0]?.manifest.peerDependencies?.zod?.replace('^', '') ?? ''
  await install(folder, { ...Object.fromEntries(ours), zod, ...(await versionsOf(['@types/node'])) })
  assertOneDriver(folder)
  await cp(join(ROOT, 'scripts/release/team'), folder, { recursive: true })
  for (const resolution of Object.keys(RESOLUTIONS) as Resolution[]) {
    const options = { types: ['node'], lib: ['ES2023', 'DOM', 'DOM.AsyncIterable'] }
    const asNodeRunsIt = { noEmit: true, allowImportingTsExtensions: true, erasableSyntaxOnly: true }
    await compile(folder, {
      resolution,
      files: ['types.ts', 'produce.ts', 'one-import.ts'],
      options: { ...options, ...asNodeRunsIt },
    })
  }
}

/**
 * Two copies of SQLite in one process release each other's locks; two copies of `pg` do not accept each
 * other's pools.
 */
function assertOneDriver(folder: string): void {
  for (const driver of ['better-sqlite3', 'pg']) {
    const copies = globSync(`**/node_modules/${driver}/package.json`, { cwd: folder })
    if (copies.length !== 1) throw new Error(`there should be one ${driver}: ${copies.join(', ')}`)
  }
}

/** The first steps of a team, by the command: migrate, serve, work, enqueue. */
export async function tryTeam(
  folder: string,
  databaseUrl: string,
  visit: (server: Server) => Promise<void>,
): Promise<void> {
  const env = [`DATABASE_URL=${databaseUrl}`, 'ONCUE_PORT=0', `ONCUE_ADMIN_TOKEN=${TOKEN}`]
  await run('env', [...env, 'npx', 'oncue', 'migrate'], { cwd: folder })
  const start = (...args: string[]) =>
    new Program(args[0] ?? '', [...env, join(folder, 'node_modules/.bin/oncue'), ...args], folder)
  const api = start('api')
  const worker = start('worker', '--import', './jobs.ts')
  try {
    const { url } = await api.says('API started')
    await worker.says('worker started')
    const args = ['produce.ts', databaseUrl, String(url), TOKEN]
    const { stdout } = await run(process.execPath, args, { cwd: folder, timeout: 60_000 })
    if (stdout !== EXPECTED) throw new Error(`expected "${EXPECTED}", got "${stdout}"`)
    await visit({ url: String(url), token: TOKEN })
  } finally {
    await Promise.all([api.stop(), worker.stop()])
  }
}

/** Everything from the one package, in one program. */
export async function tryOneImport(folder: string, databaseUrl: string): Promise<void> {
  const args = ['one-import.ts', databaseUrl]
  const { stdout } = await run(process.execPath, args, { cwd: folder, timeout: 60_000 })
  if (stdout !== EXPECTED_OF_ONE) throw new Error(`expected "${EXPECTED_OF_ONE}", got "${stdout}"`)
}

/** A worker and a producer, each installed without the API: they need nothing of Prisma. */
export async function tryWithoutApi(worker: string, producer: string, databaseUrl: string): Promise<void> {
  const env = [`DATABASE_URL=${databaseUrl}`]
  for (const folder of [worker, producer]) {
    const found = globSync('**/node_modules/{@prisma/*,prisma,.prisma}', { cwd: folder })
    if (found.length > 0) throw new Error(`Prisma is installed: ${found.join(', ')}`)
    await cp(join(ROOT, 'scripts/release/team'), folder, { recursive: true })
  }
  const bin = (folder: string, name: string, file: string) =>
    [process.execPath, join(folder, 'node_modules/@oncue', name, 'dist/cli', file)] as const
  await run('env', [...env, ...bin(producer, 'db', 'main.js')], { cwd: producer })
  const running = new Program(
    'oncue-worker',
    [...env, ...bin(worker, 'worker', 'main.js'), '--import', './jobs.ts'],
    worker,
  )
  try {
    await running.says('worker started')
    const { stdout } = await run(process.execPath, ['beside.ts', databaseUrl], {
      cwd: producer,
      timeout: 60_000,
    })
    if (stdout !== '{"paid":true}') throw new Error(`expected that it was paid, got ${stdout}`)
  } finally {
    await running.stop()
  }
}

/** A command that runs until it is told to stop, and logs lines of JSON. */
class Program {
  readonly #name: string
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>
  #said = ''

  /** Started by `env`, which then becomes the command and gets exactly this environment. */
  constructor(name: string, args: readonly string[], folder: string) {
    this.#name = name
    const child = spawn('env', args, { cwd: folder })
    this.#child = child
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    child.stderr.on('data', (text) => {
      this.#said += text
    })
  }

  /** Waits for that log line. */
  async says(message: string): Promise<Record<string, unknown>> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), START_MS)
    try {
      for (;;) {
        const { value, done } = await this.#lines.next()
        if (done) throw new Error(`${this.#name} ended before it said "${message}":\n${this.#said}`)
        this.#said += `${value}\n`
        if (!value.startsWith('{')) continue
        const line = JSON.parse(value) as Record<string, unknown>
        if (line.msg === message) return line
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Stops it, and requires a clean exit. */
  async stop(): Promise<void> {
    this.#child.stdout?.resume()
    if (this.#child.exitCode === null) {
      this.#child.kill('SIGTERM')
      await once(this.#child, 'exit')
    }
    if (this.#child.exitCode !== 0) throw new Error(`${this.#name} did not stop cleanly:\n${this.#said}`)
  }
}
