import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { HOME } from './home.ts'
import { tryPackage } from './try-package.ts'

const run = promisify(execFile)
const USAGE =
  'pnpm sdk: builds, checks, packs and tries the SDK · pnpm sdk publish [--dry-run]: then publishes it'
/** Of what an app loads, without zod, compressed. Raise it knowingly. */
const MAX_BYTES = 50_000

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
  })
  const [command, ...rest] = positionals
  if (values.help || rest.length > 0 || (command !== undefined && command !== 'publish')) return say(USAGE)

  await runOwn('node', ['scripts/build.ts'])
  await checkSize()
  const folder = await mkdtemp(join(tmpdir(), 'oncue-pack-'))
  try {
    const tarball = await pack(folder)
    await checkPacked(tarball)
    await tryPackage(tarball, say)
    if (command === 'publish') await publish(tarball, values['dry-run'])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A command of this package; what it prints is shown when it fails. */
async function runOwn(command: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('pnpm', ['exec', command, ...args], { cwd: HOME })
    return stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`)
  }
}

async function checkSize(): Promise<void> {
  const files = ['index.js', 'client.js'].map((name) => readFile(join(HOME, 'dist', name)))
  const bytes = gzipSync(Buffer.concat(await Promise.all(files))).byteLength
  if (bytes > MAX_BYTES) throw new Error(`The SDK has ${bytes} bytes compressed, more than ${MAX_BYTES}`)
  say(`${bytes} bytes compressed, of ${MAX_BYTES}`)
}

async function pack(folder: string): Promise<string> {
  await run('pnpm', ['pack', '--pack-destination', folder], { cwd: HOME })
  const [name] = await readdir(folder)
  if (name === undefined) throw new Error('pnpm pack wrote nothing')
  return join(folder, name)
}

async function checkPacked(tarball: string): Promise<void> {
  const { stdout } = await run('tar', ['-xzOf', tarball, 'package/package.json'])
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(stdout) as Record<
    string,
    Record<string, string>
  >
  const ours = Object.entries({ ...dependencies, ...peerDependencies }).filter(
    ([name, version]) => name.startsWith('@oncue/') || version.startsWith('workspace:'),
  )
  if (ours.length > 0) throw new Error(`The package depends on the workspace: ${ours.join(', ')}`)
  await runOwn('publint', ['run', tarball, '--strict'])
  await runOwn('attw', [tarball, '--profile', 'node16'])
  say('publint and attw have no complaint')
}

async function publish(tarball: string, isTrial: boolean): Promise<void> {
  const { stdout } = await run('npm', [
    'publish',
    tarball,
    '--access',
    'public',
    ...(isTrial ? ['--dry-run'] : []),
  ])
  say(stdout.trim())
}

await main()
