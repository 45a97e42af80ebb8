import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readMachine } from './config.ts'

/** The commands that the README requires. */
const ASKED_FOR = ['node', 'npm', 'npx', 'git']
/** The commands that every system has. No pnpm, no compiler, no database. */
const OF_THE_SYSTEM = [
  ...[
    'sh',
    'env',
    'uname',
    'dirname',
    'basename',
    'readlink',
    'realpath',
    'sed',
    'grep',
    'tr',
    'cut',
    'head',
  ],
  ...['cat', 'ls', 'cp', 'mv', 'ln', 'rm', 'mkdir', 'chmod', 'touch', 'sleep', 'which', 'ps', 'tar'],
]

export interface Machine {
  readonly env: NodeJS.ProcessEnv
  /** Its commands. */
  readonly bin: string
  readonly node: string
}

/** An environment like that of a new machine: an empty home, empty caches, and few commands. */
export async function makeMachine(folder: string): Promise<Machine> {
  const { env, path } = readMachine()
  const find = (name: string) => path.map((part) => join(part, name)).find((file) => existsSync(file))
  const [home, bin] = [join(folder, 'home'), join(folder, 'bin')]
  await mkdir(home)
  await mkdir(bin)
  for (const name of [...ASKED_FOR, ...OF_THE_SYSTEM]) {
    const file = find(name)
    if (file) await symlink(file, join(bin, name))
    else if (ASKED_FOR.includes(name)) throw new Error(`this needs ${name}, which is not on the PATH`)
  }
  const run = promisify(execFile)
  // The npm settings with the registry, if there are any, stay in their file.
  const { stdout } = await run(join(bin, 'npm'), ['config', 'get', 'userconfig'])
  const { stdout: version } = await run(join(bin, 'node'), ['--version'])
  return {
    env: { npm_config_userconfig: stdout.trim(), ...env, HOME: home, PATH: bin },
    ...{ bin, node: version.trim() },
  }
}
