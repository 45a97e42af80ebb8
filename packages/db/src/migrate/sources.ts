import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { DialectName } from '../url.ts'
import { type MigrationFiles, readMigrationFiles, readSql } from './files.ts'

// In the repository these are read from their files. In the published package the build has put their texts into this
// module (prisma/inline-sql.ts): a bundle of a service contains them, and has no files.

const PRISMA = new URL('../../../../prisma/', import.meta.url)

/** The version of this package. */
export const RELEASE: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version

export function migrationsFolder(dialect: DialectName): string {
  return fileURLToPath(new URL(`${dialect}/migrations`, PRISMA))
}

export function ownMigrations(dialect: DialectName): Promise<MigrationFiles[]> {
  return readMigrationFiles(migrationsFolder(dialect))
}

/** The Postgres functions, as prisma/generate.ts built them. */
export function ownFunctions(): Promise<string> {
  return readSql(fileURLToPath(new URL('postgres/functions.sql', PRISMA)))
}
