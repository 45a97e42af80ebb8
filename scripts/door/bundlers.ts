import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Place } from './place.ts'
import { freePort } from './running.ts'

export const name = 'bundlers'
export const summary =
  'a service with queue and worker, bundled by esbuild, webpack, rollup, vite and Next, as ESM and CJS'

const execute = promisify(execFile)

const TOOLS = [
  'esbuild@0.28',
  ...['webpack@5', 'webpack-cli@7'],
  ...['rollup@4', '@rollup/plugin-commonjs@29', '@rollup/plugin-json@6', '@rollup/plugin-node-resolve@16'],
  'vite@8',
  ...['next@16', 'react@19', 'react-dom@19'],
]
const BUILDS: readonly (readonly [bundler: string, ...commands: string[][]])[] = [
  ['esbuild', ['node', 'esbuild.config.js']],
  ['webpack', ['npx', 'webpack', '--config', 'webpack.config.js']],
  ['rollup', ['npx', 'rollup', '-c', 'rollup.config.js']],
  ['vite', ...['esm', 'cjs'].map((format) => ['npx', 'vite', 'build', '--mode', format])],
]
const EXPECTED = 'Hello, bundle, in a child process'
const RUN_MS = 60_000

export async function run(place: Place): Promise<void> {
  const { folder, env, npm, done } = place
  const project = join(folder, 'project')
  await cp(join(import.meta.dirname, 'bundled'), project, { recursive: true })
  await npm(project, 'init', '--yes')
  await npm(project, 'pkg', 'set', 'type=module')
  await npm(project, 'install', 'oncue', 'zod', ...TOOLS)
  done('installed')
  for (const [bundler, ...commands] of BUILDS) {
    for (const [command = '', ...args] of commands)
      await execute(command, args, { cwd: project, env: { ...env } })
    done(`${bundler} built`)
  }
  await execute('npx', ['next', 'build'], { cwd: project, env: { ...env, NEXT_TELEMETRY_DISABLED: '1' } })
  done('next built')

  // Where they run, nothing is installed but the native driver, and what was built is all there is.
  const target = join(folder, 'target')
  await mkdir(target)
  await rename(join(project, 'out'), join(target, 'out'))
  await rename(join(project, '.next/standalone'), join(target, 'standalone'))
  await cp(join(project, 'node_modules/better-sqlite3'), join(target, 'node_modules/better-sqlite3'), {
    recursive: true,
  })
  await rename(join(project, 'node_modules'), join(project, 'node_modules.away'))
  const databases = {
    sqlite: (of: string) => `file:${join(target, `${of}.db`)}`,
    postgres: place.postgresUrl,
  }
  for (const [bundler] of BUILDS) {
    for (const format of ['esm', 'cjs']) {
      for (const [dialect, urlOf] of Object.entries(databases)) {
        const extension = format === 'esm' ? 'mjs' : 'cjs'
        const cwd = join(target, 'out', `${bundler}-${format}`)
        const args = [`service.${extension}`, await urlOf(`${bundler}-${format}`), `jobs.${extension}`]
        const { stdout } = await execute(process.execPath, args, { cwd, env: { ...env }, timeout: RUN_MS })
        if (stdout !== EXPECTED)
          throw new Error(`${bundler}, ${format}, ${dialect}: expected "${EXPECTED}", got "${stdout}"`)
      }
      done(`${bundler}, ${format}: migrated, enqueued and worked on both databases`)
    }
  }
  for (const [dialect, urlOf] of Object.entries(databases)) {
    const page = await askNext(join(target, 'standalone'), await urlOf('next'), env)
    if (page !== '"Hello, bundle"') throw new Error(`next, ${dialect}: got ${page}`)
  }
  done('next, standalone: migrated, enqueued and worked on both databases')
}

/** The response of the one route. */
async function askNext(home: string, databaseUrl: string, env: Place['env']): Promise<string> {
  const server = spawn(process.execPath, ['server.js'], {
    cwd: home,
    env: { ...env, PORT: await freePort(), HOSTNAME: '127.0.0.1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(server, 'close')
  try {
    for await (const line of createInterface(server.stdout)) {
      const [, origin] = /Local:\s+(\S+)/.exec(line) ?? []
      if (origin === undefined) continue
      const url = `${origin}/jobs?database=${encodeURIComponent(databaseUrl)}`
      const response = await fetch(url, { signal: AbortSignal.timeout(RUN_MS) })
      return await response.text()
    }
    throw new Error('the server of Next ended')
  } finally {
    server.kill()
    await ended
  }
}
