import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { startPostgres } from '@oncue/db/testing'
import { ROOT } from '../start/root.ts'
import { findProblems } from './check-package.ts'
import { type Packed, packAll, SDK } from './packages.ts'
import { publish } from './publish.ts'
import { MAX_SDK_BYTES, sdkBytes } from './sdk-size.ts'
import { tryClient } from './try-client.ts'
import { tryCreate } from './try-create.ts'
import { installTeam, tryOneImport, tryTeam } from './try-team.ts'

const run = promisify(execFile)
const USAGE = `pnpm sdk                       builds, checks, packs and tries all that is published, the SDK first of all
pnpm sdk publish [--dry-run]   then publishes it`

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
  })
  const [command, ...rest] = positionals
  if (values.help || rest.length > 0 || (command !== undefined && command !== 'publish')) return say(USAGE)

  await build()
  await checkSize()
  const folder = await mkdtemp(join(tmpdir(), 'oncue-packages-'))
  try {
    const packages = await packAll(folder)
    for (const packed of packages) await check(packed)
    await tryAll(packages, folder)
    if (command === 'publish') await publish(packages, { isTrial: values['dry-run'], say })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function build(): Promise<void> {
  const filters = ['create-oncue', 'oncue', '@oncue/sdk'].flatMap((name) => ['--filter', name])
  const steps = [
    ['pnpm', 'exec', 'turbo', 'run', 'build', ...filters],
    ['node', join(ROOT, 'scripts/release/bundle-app.ts')],
  ]
  for (const [command = '', ...args] of steps) {
    await run(command, args, { cwd: ROOT }).catch((error) => {
      throw new Error(`the build failed:\n${error.stdout}${error.stderr}`)
    })
  }
}

async function checkSize(): Promise<void> {
  const bytes = await sdkBytes()
  if (bytes > MAX_SDK_BYTES)
    throw new Error(`The SDK has ${bytes} bytes compressed, more than ${MAX_SDK_BYTES}`)
  say(`SDK: ${bytes} bytes compressed, of ${MAX_SDK_BYTES}`)
}

async function check(packed: Packed): Promise<void> {
  const problems = await findProblems(packed)
  if (problems.length > 0) throw new Error(`${packed.manifest.name}:\n  ${problems.join('\n  ')}`)
  say(`${packed.manifest.name}: ${packed.files.length} files, publint and attw have no complaint`)
}

/** In projects outside of the workspace, which cannot use anything of it. */
async function tryAll(packages: readonly Packed[], folder: string): Promise<void> {
  const team = join(folder, 'team')
  await installTeam(packages, team)
  say('a project with all packages compiles strictly')

  const sdk = packages.find(({ manifest }) => manifest.name === SDK)
  if (!sdk) throw new Error('The SDK is not among the packages')
  await tryTeam(team, `file:${join(team, 'oncue.db')}`, async (server) => {
    await assertApp(server.url)
    await tryClient(sdk, join(folder, 'client'), server, say)
  })
  say('SQLite: migrated, served, worked and enqueued')
  await tryOneImport(team, `file:${join(team, 'one.db')}`)
  say('oncue, oncue/client, oncue/testing: imported, worked')

  const postgres = await startPostgres()
  try {
    await tryTeam(team, postgres.url, async () => {})
    say('Postgres: migrated, served, worked and enqueued')
    await tryCreate(packages, join(folder, 'created'), postgres.url, say)
  } finally {
    await postgres.stop()
  }
}

async function assertApp(url: string): Promise<void> {
  const page = await (await fetch(url)).text()
  const [script] = /(?<=<script src=")[^"]+/.exec(page) ?? []
  const answer = script === undefined ? undefined : await fetch(new URL(script, url))
  if (!answer?.ok) throw new Error(`The API does not serve the app:\n${page}`)
}

await main()
