import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { progress } from '../report.ts'

/** Installed for this benchmark only, and therefore not in the lockfile. graphile-worker is: `bench worker` has it. */
export const PEERS = { 'pg-boss': '12.38.0', bullmq: '6.7.0', plainjob: '0.0.14' } as const

const MANIFEST = {
  private: true,
  dependencies: { ...PEERS, pg: '8.23.1' },
  // pg-boss asks for a later version, which npm does not have everywhere.
  overrides: { 'rrule-temporal': '2.2.7' },
}

const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/oncue-peers/', import.meta.url))
const STAMP = `${FOLDER}installed.json`

/** Loads it from the cache folder. Only in processes of the contender. */
export function requirePeer<Module>(name: keyof typeof PEERS): Module {
  return createRequire(`${FOLDER}package.json`)(name) as Module
}

export async function installPeers(): Promise<void> {
  const manifest = JSON.stringify(MANIFEST, null, 2)
  // Written last, so that an installation that was interrupted is repeated.
  if ((await readFile(STAMP, 'utf8').catch(() => '')) === manifest) return
  progress(`peers: installing ${nameAll()} into node_modules/.cache/oncue-peers`)
  await mkdir(FOLDER, { recursive: true })
  await writeFile(`${FOLDER}package.json`, manifest)
  try {
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: FOLDER,
    })
  } catch (cause) {
    throw new Error(
      `${nameAll()} could not be installed with npm. Check the network, or measure without them: ` +
        `--only oncue,graphile-worker,bare\n${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  }
  await writeFile(STAMP, manifest)
}

function nameAll(): string {
  return Object.entries(PEERS)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')
}
