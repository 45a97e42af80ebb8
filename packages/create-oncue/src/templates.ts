import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const TEMPLATES = {
  worker: 'jobs, handlers and a test, on SQLite',
  'hono-drizzle': 'a Hono server with Drizzle on Postgres: a row and its job in one transaction',
  next: 'Next.js that enqueues, and a worker beside it; its app below /admin/jobs',
  nest: 'NestJS with an injectable queue and a worker; its app below /admin/jobs',
} as const
export type Template = keyof typeof TEMPLATES

export const isTemplate = (name: string): name is Template => Object.hasOwn(TEMPLATES, name)

/** Files of an empty folder: what it may hold before a project is written into it. */
const HARMLESS = new Set(['.git', '.DS_Store'])

/** What is in a folder; nothing if it does not exist. */
export function contentsOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !HARMLESS.has(name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** npm leaves files with these names out of packages. */
const RENAMED = { _gitignore: '.gitignore', _env: '.env' }

/** Writes a project into an empty folder. */
export function writeProject(folder: string, template: Template, version: string): void {
  mkdirSync(folder, { recursive: true })
  const home = fileURLToPath(new URL(`../templates/${template}`, import.meta.url))
  cpSync(home, folder, { recursive: true, errorOnExist: true, force: false })
  const names = readdirSync(folder)
  for (const [from, to] of Object.entries(RENAMED))
    if (names.includes(from)) renameSync(join(folder, from), join(folder, to))
  const file = join(folder, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> }
  const dependencies = { ...manifest.dependencies, oncue: `^${version}` }
  writeFileSync(file, `${JSON.stringify({ ...manifest, name: nameFor(folder), dependencies }, null, 2)}\n`)
}

/** A name that npm accepts. */
function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
  return name || 'my-jobs'
}
