import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OncueError } from '@oncue/core'
import type { DialectName } from '../url.ts'

export interface Migration {
  name: string
  up: string
  /** Null when the way back is missing; a test sees to it that none of ours is. */
  down: string | null
  checksum: string
  /**
   * What code has to know to work with a database that has this migration: the name behind `-- needs:`
   * in its file, or its own. Older code that knows that one goes on.
   */
  needs: string
}

const NEEDS = /^-- needs: (\S+)$/m

/**
 * In the repository the migrations are read where they are written; the published package carries a
 * copy that its build made. Node runs `.ts` nowhere below node_modules, so the two cannot be mistaken.
 */
export function migrationsFolder(dialect: DialectName): string {
  const fromSource = import.meta.url.endsWith('.ts')
  const folder = fromSource ? `../../../../prisma/${dialect}/migrations` : `../../migrations/${dialect}`
  return fileURLToPath(new URL(folder, import.meta.url))
}

export async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause) => {
    throw new OncueError('MIGRATION_FAILED', `The migrations are not where they belong: ${folder}`, {
      cause,
      hint: 'Install @oncue/db again; if your code is bundled, leave @oncue/db out of the bundle.',
    })
  })
  // By code unit, so that the order does not depend on the machine's language.
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
  return Promise.all(names.map((name) => readMigration(folder, name)))
}

async function readMigration(folder: string, name: string): Promise<Migration> {
  const up = await readSql(join(folder, name, 'migration.sql'))
  const down = await readSql(join(folder, name, 'down.sql')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  const checksum = createHash('sha256').update(up).digest('hex')
  return { name, up, down, checksum, needs: NEEDS.exec(up)?.[1] ?? name }
}

/** Git on Windows may check files out with CRLF, which must not look like a change. */
async function readSql(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).replaceAll('\r\n', '\n')
}
