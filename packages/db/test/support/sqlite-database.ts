import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import type { TestDatabase } from './test-database.ts'

let template: Promise<Buffer> | undefined

/** A file of its own, copied from a migrated one that is made once per process. */
export async function createSqliteDatabase(): Promise<TestDatabase> {
  template ??= makeTemplate()
  const database = await createEmptySqliteDatabase()
  await writeFile(database.url.slice('file:'.length), await template, { mode: 0o600 })
  return database
}

/** A folder of its own with no file in it yet. */
export async function createEmptySqliteDatabase(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'oncue-test-'))
  const url = `file:${join(folder, 'oncue.db')}`
  return { url, drop: () => (readConfig().keepDatabases ? keep(url) : remove(folder)) }
}

/** Kept in memory: a template file would have to be deleted, also after a kill. */
async function makeTemplate(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'oncue-template-'))
  try {
    const file = join(folder, 'oncue.db')
    await migrate(`file:${file}`)
    return await readFile(file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A connection that is left open would outlive the test that forgot it, so that test fails. */
async function remove(folder: string): Promise<void> {
  const open = await openFiles(folder)
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  if (open.length > 0) throw new Error(`The test left files open: ${open.join(', ')}`)
}

/** Open files of this process, where the system lists them (Linux). */
async function openFiles(folder: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd').catch(() => [])
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return targets.filter((target) => target.startsWith(folder))
}

async function keep(url: string): Promise<void> {
  process.stderr.write(`kept ${url}\n`)
}
