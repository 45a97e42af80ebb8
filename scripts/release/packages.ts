import { execFile } from 'node:child_process'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'

const run = promisify(execFile)

/** All published packages, dependencies first. */
export const PACKAGES = [
  'packages/core',
  'packages/runtime',
  'packages/logger',
  'packages/db',
  'apps/worker',
  'apps/api',
  'packages/sdk',
  'packages/oncue',
  'packages/create-oncue',
] as const

export const SDK = '@oncue/sdk'

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
  readonly engines?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface Packed {
  /** Its path in the repository. */
  readonly home: string
  readonly tarball: string
  /** Its package.json as published: `publishConfig` applied, versions filled in. */
  readonly manifest: Manifest
  readonly files: readonly string[]
}

/** Packs the built package, into a folder that exists. */
export async function packAll(destination: string): Promise<Packed[]> {
  const packed: Packed[] = []
  for (const path of PACKAGES) packed.push(await pack(join(ROOT, path), destination))
  return packed
}

export async function pack(home: string, destination: string): Promise<Packed> {
  const { stdout } = await run('pnpm', ['pack', '--json', '--pack-destination', destination], { cwd: home })
  const { filename, files } = JSON.parse(stdout) as { filename: string; files: { path: string }[] }
  const tarball = join(destination, basename(filename))
  const manifest = JSON.parse(await readPacked(tarball, 'package.json')) as Manifest
  return { home, tarball, manifest, files: files.map(({ path }) => path) }
}

/** The text of one of its files. */
async function readPacked(tarball: string, path: string): Promise<string> {
  const { stdout } = await run('tar', ['-xzOf', tarball, `package/${path}`], { maxBuffer: 16 * 2 ** 20 })
  return stdout
}

/** Into a folder that exists. */
export async function unpack(tarball: string, folder: string): Promise<void> {
  await run('tar', ['-xzf', tarball, '--strip-components', '1', '-C', folder])
}
