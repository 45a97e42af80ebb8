import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type OutputChunk, rolldown } from 'rolldown'
import { declare } from './declare.ts'
import { HOME } from './home.ts'

const DIST = join(HOME, 'dist')

/**
 * Everything but zod goes into the package: core, so that there is one thing to install, and the few files of tRPC
 * and eventsource that are used, because they would bring a compiler along and have no CommonJS.
 */
async function bundle(): Promise<OutputChunk[]> {
  const build = await rolldown({
    input: ['src/index.ts', 'src/testing.ts'].map((entry) => join(HOME, entry)),
    platform: 'neutral',
    external: ['zod'],
  })
  const shared = { dir: DIST, minify: false } as const
  const { output } = await build.write({ ...shared, format: 'esm', chunkFileNames: '[name].js' })
  await build.write({
    ...{ ...shared, format: 'cjs', exports: 'named' },
    ...{ entryFileNames: '[name].cjs', chunkFileNames: '[name].cjs' },
  })
  await build.close()
  return output.filter((part) => part.type === 'chunk')
}

/** Those whose files are in it want to be named. */
async function writeLicences(chunks: readonly OutputChunk[]): Promise<void> {
  const folders = new Set<string>()
  for (const id of chunks.flatMap(({ moduleIds }) => moduleIds)) {
    const [folder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? []
    if (folder !== undefined) folders.add(folder)
  }
  const texts = await Promise.all([...folders].sort().map(licenceOf))
  await writeFile(join(DIST, 'LICENCES.txt'), texts.join('\n'))
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const file = (await readdir(folder)).find((candidate) => /^licen[cs]e/i.test(candidate))
  if (file === undefined) throw new Error(`${name} has no licence: may it be bundled?`)
  return `${name} ${version}\n\n${await readFile(join(folder, file), 'utf8')}`
}

await rm(DIST, { recursive: true, force: true })
await writeLicences(await bundle())
await declare(join(DIST, 'types'))
