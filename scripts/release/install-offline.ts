import { cp, mkdir, readFile, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { type Manifest, type Packed, unpack } from './packages.ts'

/**
 * Installs tarballs, with all their dependencies, outside of the workspace and without the network: packages that are
 * not ours are copied from the workspace, which has the same versions.
 */
export async function installOffline(folder: string, packages: readonly Packed[]): Promise<void> {
  const modules = join(folder, 'node_modules')
  const installed = new Map<string, string>()

  /** At the top level, or below the package that needs it if another version is there already. */
  async function add(from: string, name: string, dependant: string): Promise<void> {
    const source = await realpath(join(from, name))
    const manifest: Manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
    if (installed.get(name) === manifest.version) return
    const home = installed.has(name) ? join(dependant, 'node_modules', name) : join(modules, name)
    if (!installed.has(name)) installed.set(name, manifest.version)
    await cp(source, home, { recursive: true, filter: (path) => path !== join(source, 'node_modules') })
    // In the store of pnpm, the dependencies of a package are beside it.
    const siblings = source.slice(0, -name.split('/').join(sep).length)
    for (const needed of Object.keys(manifest.dependencies ?? {})) await add(siblings, needed, home)
  }

  for (const { home, tarball, manifest } of packages) {
    const to = join(modules, manifest.name)
    await mkdir(to, { recursive: true })
    await unpack(tarball, to)
    const optional = manifest.peerDependenciesMeta ?? {}
    const peers = Object.keys(manifest.peerDependencies ?? {}).filter((name) => !optional[name]?.optional)
    for (const name of [
      ...Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }),
      ...peers,
    ])
      if (!name.startsWith('@oncue/')) await add(join(home, 'node_modules'), name, to)
  }
}
