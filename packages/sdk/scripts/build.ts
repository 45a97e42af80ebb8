import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { licencesOf } from '../../../scripts/release/licences.ts'
import { declare } from './declare.ts'
import { HOME } from './home.ts'

const DIST = join(HOME, 'dist')

/**
 * Everything but zod and React goes into the package: core, so that there is one thing to install, and the few files of tRPC
 * and eventsource that are used, because they would bring a compiler along and have no CommonJS.
 */
async function bundle(): Promise<string[]> {
  const build = await rolldown({
    input: ['src/index.ts', 'src/react.ts', 'src/testing.ts'].map((entry) => join(HOME, entry)),
    platform: 'neutral',
    external: ['react', 'zod'],
  })
  // Documentation is in the declarations; by the annotations, bundlers drop what is not used.
  const comments = { jsdoc: false, annotation: true, legal: true } as const
  const shared = { dir: DIST, minify: false, comments } as const
  const { output } = await build.write({ ...shared, format: 'esm', chunkFileNames: '[name].js' })
  await build.write({
    ...{ ...shared, format: 'cjs', exports: 'named' },
    ...{ entryFileNames: '[name].cjs', chunkFileNames: '[name].cjs' },
  })
  await build.close()
  return output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
}

await rm(DIST, { recursive: true, force: true })
await writeFile(join(DIST, 'LICENCES.txt'), await licencesOf(await bundle()))
await declare(join(DIST, 'types'))
