import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { packAll } from '../release/packages.ts'
import { startRegistry } from '../release/registry.ts'
import { createAndRun, npm } from '../release/try-create.ts'
import { ROOT } from '../start/root.ts'
import type { Machine } from './machine.ts'

const run = promisify(execFile)

interface Projects {
  /** One command in an empty folder, until its first job has completed. */
  run(folder: string): Promise<void>
  test(folder: string): Promise<void>
  close(): Promise<void>
}

/** Starts projects on that machine, from the packed packages. */
export async function createProjects(folder: string, machine: Machine): Promise<Projects> {
  const tarballs = join(folder, 'tarballs')
  await mkdir(tarballs)
  const filters = ['create-oncue', 'oncue', '@oncue/sdk'].map((name) => `--filter=${name}`)
  await run('pnpm', ['exec', 'turbo', 'run', 'build', ...filters], { cwd: ROOT })
  const { stdout: upstream } = await run('npm', ['config', 'get', 'registry'])
  const registry = await startRegistry(await packAll(tarballs), upstream.trim())
  const kept = Object.entries(machine.env).flatMap(([name, value]) => (value ? [[name, value] as const] : []))
  const env = {
    ...Object.fromEntries(kept),
    // A project of today needs a newer Node than the repository.
    PATH: [dirname(process.execPath), machine.bin].join(delimiter),
    npm_config_registry: registry.url,
  }
  return {
    run: (home) => createAndRun(home, env),
    test: async (home) => void (await npm(home, ['test'], env)),
    close: () => registry.close(),
  }
}
