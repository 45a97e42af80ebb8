/**
 * Part of the build of packages/db: puts Prisma's driver adapters into the published package. As dependencies they
 * would bring drivers of their own along. Two copies of SQLite in one process undo each other's locks on a file, which
 * can corrupt it; and an adapter for Postgres that has another `pg` does not know our pool for one.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { licencesOf } from '../packages/sdk/scripts/licences.ts'
import { dialects } from './schemas.ts'

const HOME = fileURLToPath(new URL('../packages/db/', import.meta.url))
const DRIVERS = ['pg', 'better-sqlite3']

async function bundle(dialect: string): Promise<string[]> {
  const build = await rolldown({
    input: join(HOME, `src/${dialect}/prisma-adapter.ts`),
    platform: 'node',
    external: DRIVERS,
  })
  const file = join(HOME, `dist/${dialect}/prisma-adapter.js`)
  const { output } = await build.write({ file, format: 'esm' })
  await build.close()
  return output[0].moduleIds
}

const moduleIds = await Promise.all(dialects.map(bundle))
await writeFile(join(HOME, 'dist/LICENCES.txt'), await licencesOf(moduleIds.flat()))
