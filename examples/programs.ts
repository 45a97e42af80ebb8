import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createPostgresDatabase, createSqliteDatabase, type TestDatabase } from '@oncue/db/testing'
import { inject } from 'vitest'

/** For `describe.each`: the databases that an example runs on. */
export const DATABASES: readonly { dialect: string; create: () => Promise<TestDatabase> }[] = [
  { dialect: 'postgres', create: () => createPostgresDatabase(inject('postgresUrl')) },
  { dialect: 'sqlite', create: createSqliteDatabase },
]

export const pathOf = (program: string) => fileURLToPath(new URL(program, import.meta.url))

/** Runs a program as a reader would, to its end. Returns the lines that it prints. */
export async function run(program: string, ...args: string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [pathOf(program), ...args])
  return stdout.split('\n').slice(0, -1)
}
