import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'

const run = promisify(execFile)

/** How people set up their compiler. */
export const RESOLUTIONS = {
  NodeNext: { module: 'NodeNext', moduleResolution: 'NodeNext' },
  Bundler: { module: 'ESNext', moduleResolution: 'Bundler' },
} as const
export type Resolution = keyof typeof RESOLUTIONS

/** The strictest settings of the compiler, also for the declarations of what is installed. */
const STRICT = {
  ...{ target: 'ES2022', lib: ['ES2022', 'DOM', 'DOM.AsyncIterable'] },
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
}

/** A folder outside of the workspace in which these are installed, from npm or from tarballs. */
export async function install(folder: string, dependencies: Record<string, string>): Promise<void> {
  await mkdir(folder, { recursive: true })
  // A dependency on a package of ours by version must be a tarball, too.
  const ours = Object.keys(dependencies).filter((name) => /^(@oncue\/|oncue$)/.test(name))
  const overrides = Object.fromEntries(ours.map((name) => [name, `$${name}`]))
  const manifest = { private: true, type: 'module', dependencies, overrides }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder })
}

export interface Compilation {
  readonly resolution: Resolution
  readonly files: readonly string[]
  /** Options in addition to the strict ones, such as where to write. */
  readonly options?: Readonly<Record<string, unknown>>
}

/** Compiles files of a folder, and returns how many types the compiler made for them. */
export async function compile(folder: string, { resolution, files, options }: Compilation): Promise<number> {
  const compilerOptions = { ...STRICT, types: [], ...RESOLUTIONS[resolution], ...options }
  const config = join(folder, `tsconfig.${resolution}.json`)
  await writeFile(config, JSON.stringify({ compilerOptions, files }))
  const compiler = join(ROOT, 'node_modules/typescript/lib/tsc.js')
  const args = [compiler, '-p', config, '--pretty', 'false', '--extendedDiagnostics']
  const { stdout } = await run(process.execPath, args).catch((error: { stdout: string }) => {
    throw new Error(`${folder} does not compile (${resolution}):\n${error.stdout}`)
  })
  return Number(/^Instantiations:\s*(\d+)$/m.exec(stdout)?.[1])
}

/** This repository's versions of packages that users have, too. */
export async function versionsOf<Name extends string>(names: readonly Name[]): Promise<Record<Name, string>> {
  const text = await readFile(join(ROOT, 'pnpm-workspace.yaml'), 'utf8')
  const versions = names.map((name) => {
    const version = new RegExp(`^  "?${name}"?: (.*)$`, 'm').exec(text)?.[1]
    if (version === undefined) throw new Error(`${name} is not in the catalog`)
    return [name, version] as const
  })
  return Object.fromEntries(versions) as Record<Name, string>
}
