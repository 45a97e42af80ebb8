/**
 * Part of the build of apps/worker: puts the code of its thread and of its child processes, with all that they import, into
 * the published package as texts, and its version. A bundle of a service has no files from which they could be started.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { ROOT } from '../start/root.ts'
import { licencesOf } from './licences.ts'

const HOME = join(ROOT, 'apps/worker')
const DIST = join(HOME, 'dist')

const { version } = JSON.parse(await readFile(join(HOME, 'package.json'), 'utf8'))
const VERSION_MODULE = `export const VERSION = ${JSON.stringify(version)};\n`
const texts: Record<string, string> = {}
const moduleIds = new Set<string>()
texts['isolate/watch-parent'] = await bundle('isolate/watch-parent', 'cjs')
texts['lease/thread'] = await bundle('lease/thread', 'cjs')
texts['isolate/child'] = await bundle('isolate/child', 'esm')

await replace('inlined-code.js', moduleOf(texts))
await writeFile(join(DIST, 'LICENCES.txt'), await licencesOf([...moduleIds]))
await replace('version.js', VERSION_MODULE)

/** A thread is a script, since Node runs no text as a module there; a child process reads a module. */
async function bundle(name: string, format: 'cjs' | 'esm'): Promise<string> {
  const build = await rolldown({
    input: join(HOME, `src/${name}.ts`),
    platform: 'node',
    // The driver of SQLite is native, and loaded from where the process has found it.
    external: ['better-sqlite3', 'pg-native'],
    plugins: [inlined()],
    onLog(_, log) {
      throw new Error(`${name}: ${log.message}`)
    },
  })
  const { output } = await build.generate({
    format,
    codeSplitting: false,
    // Names stay as they are, for stack traces; without comments and indents it is half as long.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  })
  await build.close()
  const [{ code, moduleIds: ids }] = output
  for (const id of ids) moduleIds.add(id)
  return code
}

/** What the builds of packages/db and of this package replace. */
function inlined(): Plugin {
  return {
    name: 'oncue-inlined',
    async load(id) {
      if (id === join(ROOT, 'packages/db/src/migrate/sources.ts'))
        return readFile(join(ROOT, 'packages/db/dist/migrate/sources.js'), 'utf8')
      if (id === join(HOME, 'src/version.ts')) return VERSION_MODULE
      const { 'isolate/watch-parent': watch = '' } = texts
      if (id === join(HOME, 'src/inlined-code.ts')) return moduleOf({ 'isolate/watch-parent': watch })
      return null
    },
  }
}

function moduleOf(codes: Readonly<Record<string, string>>): string {
  return `const TEXTS = ${JSON.stringify(codes, null, 2)};
export function textOf(name) {
    return TEXTS[name];
}
`
}

/** A file that the compiler has written. */
async function replace(name: string, text: string): Promise<void> {
  await readFile(join(DIST, name))
  await writeFile(join(DIST, name), text)
}
