import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OncueError } from '@oncue/core'

/** What `oncue init` finds out about a project. */
export interface Project {
  readonly folder: string
  /** The text of package.json. */
  readonly manifest: string
  readonly packageManager: PackageManager
  /** Path of tsconfig.json; null: JavaScript. */
  readonly tsconfig: string | null
  /** What package.json says; null: nothing. */
  readonly type: 'module' | 'commonjs' | null
  /** What opens transactions, the most specific first. */
  readonly database: (typeof DATABASES)[number] | null
  readonly framework: Framework | null
  /** Names of its dependencies, with the versions asked for. */
  readonly dependencies: Readonly<Record<string, string>>
}

const DATABASES = ['@prisma/client', 'drizzle-orm', 'kysely', 'pg', 'better-sqlite3'] as const
const FRAMEWORKS = {
  next: 'Next.js',
  '@nestjs/core': 'NestJS',
  hono: 'Hono',
  fastify: 'Fastify',
  express: 'Express',
} as const
type Framework = (typeof FRAMEWORKS)[keyof typeof FRAMEWORKS]

const LOCK_FILES = {
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
  'package-lock.json': 'npm',
} as const
type PackageManager = (typeof LOCK_FILES)[keyof typeof LOCK_FILES]

interface Manifest {
  readonly type?: string
  readonly packageManager?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export function readProject(folder: string): Project {
  const file = join(folder, 'package.json')
  if (!existsSync(file))
    throw new OncueError('INVALID_INPUT', `There is no package.json in ${folder}`, {
      hint: 'Run this in the folder of a project, or start one: npm create oncue@latest',
    })
  const manifest = readFileSync(file, 'utf8')
  const { type, packageManager, dependencies, devDependencies } = parseManifest(file, manifest)
  const all = { ...devDependencies, ...dependencies }
  const tsconfig = join(folder, 'tsconfig.json')
  const framework = Object.entries(FRAMEWORKS).find(([name]) => name in all)
  return {
    folder,
    manifest,
    packageManager: managerOf(folder, packageManager),
    tsconfig: existsSync(tsconfig) ? tsconfig : null,
    type: type === 'module' || type === 'commonjs' ? type : null,
    database: DATABASES.find((name) => name in all) ?? null,
    framework: framework?.[1] ?? null,
    dependencies: all,
  }
}

export function parseManifest(file: string, text: string): Manifest {
  const value = parse(file, text)
  if (!isObject(value)) throw new OncueError('INVALID_JSON', `${file} is not an object`)
  for (const name of ['scripts', 'dependencies', 'devDependencies'])
    if (value[name] !== undefined && !isObject(value[name]))
      throw new OncueError('INVALID_JSON', `${name} of ${file} is not an object`)
  return value
}

function parse(file: string, text: string): unknown {
  try {
    // Editors of Windows write a byte order mark, which npm passes over, too.
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (cause) {
    throw new OncueError('INVALID_JSON', `${file} is not valid JSON: ${(cause as Error).message}`, { cause })
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const RUNNERS = { npm: 'npx', pnpm: 'pnpm', yarn: 'yarn', bun: 'bunx' } as const

/** What runs an installed command in that folder. */
export const runnerOf = (folder: string): string =>
  RUNNERS[managerOf(folder, manifestIn(folder)?.packageManager)]

/** Whether its files are CommonJS because package.json says so, as that of `npm init` does. */
export const isCommonJs = (folder: string): boolean => manifestIn(folder)?.type === 'commonjs'

function manifestIn(folder: string): Manifest | undefined {
  const file = join(folder, 'package.json')
  return existsSync(file) ? parseManifest(file, readFileSync(file, 'utf8')) : undefined
}

/** What package.json names, or whose lock file is nearest: that of a workspace is above its packages. */
function managerOf(folder: string, named: string | undefined): PackageManager {
  const [, name] = /^(npm|pnpm|yarn|bun)@/.exec(named ?? '') ?? []
  if (name !== undefined) return name as PackageManager
  for (let home = folder; ; home = dirname(home)) {
    const found = Object.entries(LOCK_FILES).find(([file]) => existsSync(join(home, file)))
    if (found) return found[1]
    if (home === dirname(home)) return 'npm'
  }
}
