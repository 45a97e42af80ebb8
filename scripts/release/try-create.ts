import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Packed } from './packages.ts'
import { startRegistry } from './registry.ts'

const run = promisify(execFile)

const COMMAND = ['create', '--yes', 'oncue@latest']

/** Runs npm with this Node, as a new user does. Its output is the error if it fails. */
export async function npm(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  try {
    // The one that runs this script may be pnpm.
    const clean = ['-u', 'npm_config_user_agent']
    const { stdout } = await run('env', [...clean, ...toArgs(env), 'npm', ...args], { cwd: folder })
    return stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`npm ${args.join(' ')} failed:\n${stdout}${stderr}`)
  }
}

const toArgs = (env: Readonly<Record<string, string>>) =>
  Object.entries(env).map(([name, value]) => `${name}=${value}`)

/** The first step of a new user, in an empty folder: one command, and a job has completed. */
export async function createAndRun(folder: string, env: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true })
  const output = await npm(folder, [...COMMAND, '.', '--', '--yes'], env)
  if (!/^first job: completed \{"sentTo":"ada@example\.com"\}$/m.test(output))
    throw new Error(`no job completed:\n${output}`)
}

/** Every template, created by the packed `create-oncue` and installed from the packed packages: it compiles, and its tests pass. */
export async function tryCreate(
  packages: readonly Packed[],
  folder: string,
  databaseUrl: string,
  say: (line: string) => void,
): Promise<void> {
  const { stdout: upstream } = await run('npm', ['config', 'get', 'registry'])
  const registry = await startRegistry(packages, upstream.trim())
  const PATH = [dirname(process.execPath), await pathOf()].join(delimiter)
  const env = { PATH, npm_config_registry: registry.url, npm_config_audit: 'false', npm_config_fund: 'false' }
  try {
    const worker = join(folder, 'worker')
    await createAndRun(worker, env)
    await npm(worker, ['run', 'typecheck'], env)
    await npm(worker, ['test'], env)
    const again = npm(worker, [...COMMAND, '.', '--', '--yes'], env)
    const refused = await again.then(() => '', String)
    if (!refused.includes('is not empty'))
      throw new Error(`a folder with a project is not refused: ${refused}`)
    say('create-oncue, worker: first job completed, compiles strictly, tests pass')

    await mkdir(join(folder, 'shops'))
    await npm(join(folder, 'shops'), [...COMMAND, 'hono', '--', '--yes', '--template', 'hono-drizzle'], env)
    const shop = join(folder, 'shops/hono')
    const onPostgres = { ...env, DATABASE_URL: databaseUrl }
    for (const args of [['run', 'typecheck'], ['run', 'migrate'], ['test']]) await npm(shop, args, onPostgres)
    say('create-oncue, hono-drizzle: compiles strictly, migrated, tests pass on Postgres')
  } finally {
    await registry.close()
  }
}

/** Without folders that a package manager put in front. */
async function pathOf(): Promise<string> {
  const { stdout } = await run('printenv', ['PATH'])
  const folders = stdout.trim().split(delimiter)
  return folders.filter((folder) => !folder.includes('node_modules')).join(delimiter)
}
