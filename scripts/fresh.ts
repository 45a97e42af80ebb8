/**
 * The first steps of a new user, on a machine without anything of ours: clones the repository, starts it with the one
 * command of the README, enqueues a job through the packed SDK, opens the app, stops it, and starts it again.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { installClient, useClient } from './fresh/client.ts'
import { createProjects } from './fresh/create.ts'
import { type Machine, makeMachine } from './fresh/machine.ts'
import { Launched } from './launched.ts'
import { ROOT } from './start/root.ts'

const HELP = `Usage: pnpm test:fresh [--keep]

Tries the last commit as it is after a first clone: with an empty home, empty caches and no pnpm.
Needs git and the npm registry. --keep leaves the folder where it is.
`
const COMMAND = ['-y', 'pnpm@12.18.0', 'start', '--port', '0']
/** The aim for a new user's first job, on a machine that does nothing else. Printed, not enforced: CI shares its cores. */
const MOST_S = 60
/** How long a process may take to end after a signal; longer than any grace time. */
const END_MS = 30_000

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  const result = await work()
  say(`${((performance.now() - began) / 1_000).toFixed(1).padStart(7)} s  ${title}`)
  return result
}

async function main(folder: string): Promise<void> {
  const machine = await makeMachine(folder)
  const repository = join(folder, 'oncue')
  const client = join(folder, 'client')
  say(`In ${folder}, with Node ${machine.node}`)
  await step('the last commit is cloned', () =>
    promisify(execFile)('git', ['clone', '--quiet', '--depth', '1', `file://${ROOT}`, repository]),
  )
  const first = await step('the first start: installed, generated, built, migrated, ready', () =>
    start(machine, repository),
  )
  const { url, token } = first
  if (!token) throw new Error('the first start shows no token')
  await step('the SDK is packed, and installed in an empty project', () => installClient(client))
  await step('a job is enqueued through it, and completed', () => useClient(client, url, token))
  await step('the app is there', () => openApp(repository, url))
  await step('Ctrl-C ends it, and leaves nothing running', () => stop(first.process))

  const second = await step('the second start', () => start(machine, repository))
  if (second.token) throw new Error('the second start shows a token again')
  await step('the token of the first works; it completes a job', () => useClient(client, second.url, token))
  await step('SIGTERM ends it, and leaves nothing running', () => stop(second.process, 'SIGTERM'))

  const cold = join(folder, 'cold')
  const create = await step('the packages are packed, and in a registry of this machine', () =>
    createProjects(folder, machine),
  )
  try {
    await step('npm create oncue, empty cache: installed, the first job completed', () => create.run(cold))
    const began = performance.now()
    await step('npm create oncue, warm cache: the same', () => create.run(join(folder, 'warm')))
    const seconds = (performance.now() - began) / 1_000
    say(
      `           (from an empty folder to the first completed job: ${seconds.toFixed(1)} s, of ${MOST_S} s)`,
    )
    await step('the tests of that project pass', () => create.test(cold))
  } finally {
    await create.close()
  }
}

interface Started {
  readonly process: Launched
  readonly url: string
  readonly token: string | undefined
}

const running = new Set<Launched>()

async function start({ bin, env }: Machine, repository: string): Promise<Started> {
  const process = new Launched(join(bin, 'npx'), COMMAND, { cwd: repository, env })
  running.add(process)
  await process.says(/wait\(id\)/)
  const [, url = ''] = /(http:\/\/\S+)\/docs/.exec(process.output) ?? []
  return { process, url, token: /oncue_[\w-]{43}/.exec(process.output)?.[0] }
}

async function stop(process: Launched, signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
  process.signal(signal)
  const { output } = await process.ends()
  if (!/^Stopped\.$/m.test(output)) throw new Error(`it did not stop cleanly:\n${output}`)
  // The process that forwards the signal may end a moment after ours.
  for (const until = Date.now() + END_MS; process.left().length > 0; await delay(100)) {
    if (Date.now() > until) throw new Error(`this still runs:\n${process.left().join('\n')}`)
  }
  running.delete(process)
}

/** The page, and the script without which it would stay blank. */
async function openApp(repository: string, url: string): Promise<void> {
  const manifest = join(repository, 'apps/mobile/package.json')
  const isThere = existsSync(manifest) && (await readFile(manifest, 'utf8')).includes('"export:web"')
  if (!isThere) return say('           (this commit has no app to build)')
  const page = await (await fetch(url)).text()
  const [, script = ''] = /<script[^>]* src="([^"]+)"/.exec(page) ?? []
  const { ok, headers } = await fetch(new URL(script, url))
  if (!script || !ok || !headers.get('content-type')?.includes('javascript')) {
    throw new Error(`${url} is not the app:\n${page.slice(0, 1_000)}`)
  }
}

const { values } = parseArgs({
  options: { keep: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
})
if (values.help) say(HELP)
else {
  const folder = await mkdtemp(join(tmpdir(), 'oncue-fresh-'))
  try {
    await step('all of it', () => main(folder))
  } catch (error) {
    process.exitCode = 1
    const reason = error instanceof Error ? error.message : String(error)
    for (const { output } of running) if (!reason.includes(output)) say(output)
    process.stderr.write(`\n${reason}\n`)
  } finally {
    for (const launched of running) launched.signal('SIGKILL')
    if (values.keep) say(`kept: ${folder}`)
    else await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
