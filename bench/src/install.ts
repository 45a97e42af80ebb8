import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { progress } from './report.ts'

/** Packages that only a benchmark needs, and that are therefore not in the lockfile. */
export interface Installation {
  /** Of its folder below node_modules/.cache. */
  readonly name: string
  /** With their exact versions. */
  readonly packages: Readonly<Record<string, string>>
  readonly overrides?: Readonly<Record<string, string>>
  /** How to measure without them. */
  readonly without: string
}

const folderOf = ({ name }: Installation) =>
  fileURLToPath(new URL(`../../node_modules/.cache/oncue-${name}/`, import.meta.url))

/** Loads a package of an installation. Only in processes of the contender. */
export function requireFrom<Module>(installation: Installation, name: string): Module {
  return createRequire(`${folderOf(installation)}package.json`)(name) as Module
}

export async function install(installation: Installation): Promise<void> {
  const { name, packages, overrides, without } = installation
  const folder = folderOf(installation)
  const stamp = `${folder}installed.json`
  const manifest = JSON.stringify({ private: true, dependencies: packages, overrides }, null, 2)
  // Written last, so that an installation that was interrupted is repeated.
  if ((await readFile(stamp, 'utf8').catch(() => '')) === manifest) return
  const all = Object.entries(packages)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')
  progress(`${name}: installing ${all} into node_modules/.cache/oncue-${name}`)
  await mkdir(folder, { recursive: true })
  await writeFile(`${folder}package.json`, manifest)
  try {
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: folder,
    })
  } catch (cause) {
    throw new Error(
      `${all} could not be installed with npm. Check the network, or measure without: ${without}\n` +
        (cause instanceof Error ? cause.message : String(cause)),
      { cause },
    )
  }
  await writeFile(stamp, manifest)
}
