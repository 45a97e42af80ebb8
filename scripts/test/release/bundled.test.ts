import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type Plugin, rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { installOffline } from '../../release/install-offline.ts'
import { pack } from '../../release/packages.ts'
import { ROOT } from '../../start/root.ts'

// The other bundlers are tried by `pnpm check:door bundlers`.

const run = promisify(execFile)
const NEEDED = [
  'packages/core',
  'packages/runtime',
  'packages/logger',
  'packages/db',
  'apps/worker',
  'packages/oncue',
]

let folder: string
let project: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncue-bundled-'))
  project = join(folder, 'project')
  await mkdir(project)
  await installOffline(project, await Promise.all(NEEDED.map((home) => pack(join(ROOT, home), folder))))
  for (const file of ['service.js', 'jobs.js'])
    await cp(join(ROOT, 'scripts/door/bundled', file), join(project, file))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function bundle(
  target: string,
  format: 'esm' | 'cjs',
  external: string[],
  plugins: Plugin[] = [],
): Promise<void> {
  const build = await rolldown({
    cwd: project,
    input: ['service.js', 'jobs.js'],
    platform: 'node',
    external: ['pg-native', ...external],
    logLevel: 'silent',
    plugins,
  })
  const names = format === 'cjs' ? '[name].cjs' : '[name].mjs'
  await build.write({ dir: target, format, entryFileNames: names, chunkFileNames: names })
  await build.close()
}

it.each(['esm', 'cjs'] as const)(
  'a service bundled as %s has all that it needs, but for the driver',
  async (format) => {
    const target = join(folder, format)
    await bundle(target, format, ['better-sqlite3'])
    const driver = 'node_modules/better-sqlite3'
    await cp(join(project, driver), join(target, driver), { recursive: true })
    const extension = format === 'cjs' ? 'cjs' : 'mjs'
    const args = [`service.${extension}`, `file:${join(target, 'oncue.db')}`, `jobs.${extension}`]
    const { stdout } = await run(process.execPath, args, { cwd: target })
    expect(stdout).toBe('Hello, bundle, in a child process')
  },
)

/** Like webpack: modules keep the addresses that they had when they were bundled. */
const keepAddress = (home: string): Plugin => ({
  name: 'keep-address',
  transform(code, id) {
    const [, file] = /[\\/]worker[\\/]dist[\\/](own-code\.js)$/.exec(id) ?? []
    if (file === undefined) return null
    return code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(join(home, 'dist', file)).href))
  },
})

it('a bundle starts nothing of another version at the path from which it was bundled', async () => {
  const other = join(folder, 'other')
  await mkdir(join(other, 'dist/lease'), { recursive: true })
  await mkdir(join(other, 'dist/isolate'))
  await writeFile(
    join(other, 'package.json'),
    JSON.stringify({ name: '@oncue/worker', version: '0.0.0-other' }),
  )
  for (const name of ['lease/thread', 'isolate/child', 'isolate/watch-parent'])
    await writeFile(join(other, `dist/${name}.js`), 'throw new Error("of another version")')
  const target = join(folder, 'moved')
  await bundle(target, 'cjs', ['better-sqlite3'], [keepAddress(other)])
  const driver = 'node_modules/better-sqlite3'
  await cp(join(project, driver), join(target, driver), { recursive: true })
  const args = ['service.cjs', `file:${join(target, 'oncue.db')}`, 'jobs.cjs']
  const { stdout } = await run(process.execPath, args, { cwd: target })
  expect(stdout).toBe('Hello, bundle, in a child process')
})

it('a bundle without the driver uses node:sqlite, in all of its threads, or says that it has none', async () => {
  const target = join(folder, 'without')
  await bundle(target, 'esm', ['better-sqlite3'])
  const args = ['service.mjs', `file:${join(target, 'oncue.db')}`, 'jobs.mjs']
  const { stdout, stderr } = await run(process.execPath, args, { cwd: target })
  expect({ stdout, stderr }).toEqual({ stdout: 'Hello, bundle, in a child process', stderr: '' })
  const running = run(process.execPath, ['--no-experimental-sqlite', ...args], { cwd: target })
  await expect(running).rejects.toThrow('better-sqlite3 cannot be loaded')
})
