/**
 * The changes that would make a live database match schema.prisma. Prints nothing
 * and exits with 0 when there are none, with 2 when there are some.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { dialectOf } from '../packages/db/src/url.ts'
import { openEngine } from './engine.ts'
import { schemaPath } from './schemas.ts'

const { values } = parseArgs({
  options: { url: { type: 'string' }, script: { type: 'boolean', default: false } },
})
if (!values.url) throw new Error('Usage: node prisma/diff.ts --url postgres://… | file:… [--script]')

const path = schemaPath(dialectOf(values.url))
const files = [{ path: fileURLToPath(path), content: await readFile(path, 'utf8') }]
const { engine } = await openEngine(values.url)
const { exitCode, stdout } = await engine.diff({
  from: { tag: 'schemaDatasource', files, configDir: fileURLToPath(new URL('.', path)) },
  to: { tag: 'schemaDatamodel', files },
  script: values.script,
  exitCode: true,
  filters: { externalTables: [], externalEnums: [] },
})
if (exitCode !== 0) process.stdout.write(`${stdout}\n`)
process.exit(exitCode)
