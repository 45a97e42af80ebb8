/**
 * Every door by which a project comes to Oncue, tried from the packed packages in a folder outside of the repository. Slow,
 * and in need of the npm registry: no part of `pnpm test`.
 */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type DoorCheck, openDoor } from './door/place.ts'
import { ROOT } from './start/root.ts'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, 'door')

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function loadChecks(): Promise<DoorCheck[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.ts')).sort()
  const modules: Partial<DoorCheck>[] = await Promise.all(files.map((file) => import(join(FOLDER, file))))
  return modules.filter((module): module is DoorCheck => typeof module.run === 'function')
}

function help(checks: readonly DoorCheck[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length)) + 3
  return [
    'Usage: pnpm check:door [names…] [--keep]',
    '',
    'Builds and packs all packages, and tries them in projects of their own. Without names: every check.',
    'Needs the npm registry. --keep leaves the folder where it is.',
    '',
    ...checks.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`),
    '',
    'Exit codes: 0 all passed, 1 one failed, 2 wrong usage',
  ].join('\n')
}

/** Prints each step with the seconds since the one before. */
function stopwatch(): (step: string) => void {
  let began = performance.now()
  return (step) => {
    const now = performance.now()
    say(`${((now - began) / 1_000).toFixed(1).padStart(7)} s  ${step}`)
    began = now
  }
}

async function build(): Promise<void> {
  const filters = ['create-oncue', 'oncue', '@oncue/sdk', '@oncue/mobile'].map((name) => `--filter=${name}`)
  await run('pnpm', ['exec', 'turbo', 'run', 'build', 'export:web', ...filters], { cwd: ROOT }).catch(
    ({ stdout, stderr }) => {
      throw new Error(`the build failed:\n${stdout}${stderr}`)
    },
  )
  const app = join(ROOT, 'apps/api/app')
  await rm(app, { recursive: true, force: true })
  await cp(join(ROOT, 'apps/mobile/dist'), app, { recursive: true })
}

/** Runs them one after another. Returns the names of those that failed. */
async function runChecks(checks: readonly DoorCheck[], folder: string): Promise<string[]> {
  const done = stopwatch()
  await build()
  done('built')
  const { stdout: upstream } = await run('npm', ['config', 'get', 'registry'])
  const door = await openDoor(folder, upstream.trim())
  done('packed')
  const failed: string[] = []
  try {
    for (const { name, run } of checks) {
      say(`${name}:`)
      try {
        const watch = stopwatch()
        await run(await door.place(name, watch))
      } catch (error) {
        failed.push(name)
        say(`         ${name} failed: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  } finally {
    await door.close()
  }
  return failed
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { keep: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
  })
  const all = await loadChecks()
  if (values.help) {
    say(help(all))
    return 0
  }
  const unknown = positionals.filter((wanted) => !all.some(({ name }) => name === wanted))
  if (unknown.length > 0) {
    process.stderr.write(`There is no check ${unknown.join(', ')}.\n\n${help(all)}\n`)
    return 2
  }
  const checks = positionals.length === 0 ? all : all.filter(({ name }) => positionals.includes(name))
  const folder = await mkdtemp(join(tmpdir(), 'oncue-door-'))
  try {
    const failed = await runChecks(checks, folder)
    say(failed.length === 0 ? 'All passed.' : `Failed: ${failed.join(', ')}`)
    return failed.length === 0 ? 0 : 1
  } finally {
    if (values.keep) say(`kept: ${folder}`)
    else await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  return 1
})
