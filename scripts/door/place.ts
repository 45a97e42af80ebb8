import { mkdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { startPostgres } from '@oncue/db/testing'
import { readMachine } from '../fresh/config.ts'
import { packAll } from '../release/packages.ts'
import { startRegistry } from '../release/registry.ts'
import { npm } from '../release/try-create.ts'

/** One way by which a project comes to Oncue. Each file of this folder that exports these three is one. */
export interface DoorCheck {
  readonly name: string
  /** One line for `--help`. */
  readonly summary: string
  run(place: Place): Promise<void>
}

/** What a check gets: an empty folder outside of the repository, and the packages as they would be published. */
export interface Place {
  /** Of this check alone. */
  readonly folder: string
  /** By name of the package. */
  readonly tarballs: Readonly<Record<string, string>>
  /** Of a machine that has this Node and npm, and gets these packages from its registry. */
  readonly env: Readonly<Record<string, string>>
  /** Runs npm there. Returns its output, which is the error if it fails. */
  npm(folder: string, ...args: string[]): Promise<string>
  /** A Postgres server, which all checks share. */
  postgresUrl(): Promise<string>
  /** A step is done; printed with its seconds. */
  done(step: string): void
}

export interface Door {
  place(name: string, done: (step: string) => void): Promise<Place>
  close(): Promise<void>
}

/** The packages have been built. `upstream`: the registry with all other packages. */
export async function openDoor(folder: string, upstream: string): Promise<Door> {
  const packed = join(folder, 'tarballs')
  await mkdir(packed)
  const packages = await packAll(packed)
  const registry = await startRegistry(packages, upstream)
  let postgres: ReturnType<typeof startPostgres> | undefined
  const { env: network, path } = readMachine()
  const kept = Object.entries(network).flatMap(([name, value]) => (value ? [[name, value] as const] : []))
  const env = {
    ...Object.fromEntries(kept),
    PATH: [dirname(process.execPath), ...path].join(delimiter),
    npm_config_registry: registry.url,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  }
  return {
    async place(name, done) {
      const home = join(folder, name)
      await mkdir(home)
      return {
        folder: home,
        tarballs: Object.fromEntries(packages.map(({ manifest, tarball }) => [manifest.name, tarball])),
        env,
        npm: (at, ...args) => npm(at, args, env),
        async postgresUrl() {
          postgres ??= startPostgres()
          return (await postgres).url
        },
        done,
      }
    },
    async close() {
      await registry.close()
      await (await postgres)?.stop()
    },
  }
}
