/**
 * Part of the build of apps/api: puts Control into the published API, with Prisma's client and the query compilers of the
 * two databases. As a dependency, `@prisma/client` would bring those of five databases along, each four times: 71 MB.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { licencesOf } from '../scripts/release/licences.ts'

const HOME = fileURLToPath(new URL('../apps/api/', import.meta.url))

const build = await rolldown({
  input: join(HOME, 'src/control.ts'),
  platform: 'node',
  // Dependencies of both must be in the bundle once.
  external: ['@oncue/core', 'zod'],
})
const { output } = await build.write({
  dir: join(HOME, 'dist'),
  format: 'esm',
  entryFileNames: 'control.js',
  // The compiler of a database is loaded with its first query.
  chunkFileNames: 'control/[name].mjs',
})
await build.close()
const moduleIds = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
await writeFile(join(HOME, 'dist/LICENCES.txt'), await licencesOf(moduleIds))
