/**
 * Part of the build: puts the SDK of the Model Context Protocol into the one file that uses it. As a dependency it would
 * bring two web servers and their middleware into every project that installs oncue, and this command needs neither.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { licencesOf } from '../../../scripts/release/licences.ts'

const HOME = fileURLToPath(new URL('..', import.meta.url))

const build = await rolldown({
  input: join(HOME, 'src/mcp/protocol.ts'),
  platform: 'node',
  // The API, which is installed beside it, needs ajv, too.
  external: [/^(zod|ajv|ajv-formats)(\/|$)/],
})
const { output } = await build.write({ file: join(HOME, 'dist/mcp/protocol.js'), format: 'esm' })
await build.close()
const moduleIds = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
await writeFile(join(HOME, 'dist/LICENCES.txt'), await licencesOf(moduleIds))
