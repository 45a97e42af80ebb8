/**
 * Writes both Prisma schemas from models.prisma, the set of Postgres functions from postgres/functions, and
 * generates both clients into packages/db. `--check` writes nothing and fails, with their names, when files do not
 * match their sources. `--missing` only generates clients that are missing, for commands that should start
 * at once.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { prismaCli, prismaEnvironment } from './config.ts'
import { buildFunctions, readSources, renderConstant } from './functions.ts'
import { type Dialect, dialects, renderSchema, schemaPath } from './schemas.ts'

const root = new URL('..', import.meta.url)

/** Every written file: path in the repository → text. */
async function render(): Promise<[string, string][]> {
  const functions = buildFunctions(await readSources())
  return [
    ['prisma/postgres/schema.prisma', await renderSchema('postgres')],
    ['prisma/sqlite/schema.prisma', await renderSchema('sqlite')],
    ['prisma/postgres/functions.sql', functions.sql],
    ['packages/db/src/postgres/function-set.ts', renderConstant(functions)],
  ]
}

async function stale(): Promise<[string, string][]> {
  const files = await render()
  const written = await Promise.all(
    files.map(([path]) => readFile(new URL(path, root), 'utf8').catch(() => '')),
  )
  return files.filter(([, text], i) => written[i]?.replaceAll('\r\n', '\n') !== text)
}

async function generateClient(dialect: Dialect): Promise<void> {
  const schema = fileURLToPath(schemaPath(dialect))
  const args = [prismaCli, 'generate', '--no-hints', '--schema', schema]
  await promisify(execFile)(process.execPath, args, { env: prismaEnvironment() })
}

function hasClient(dialect: Dialect): boolean {
  return existsSync(new URL(`../packages/db/src/generated/${dialect}/client.ts`, import.meta.url))
}

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, missing: { type: 'boolean', default: false } },
})

if (values.check) {
  for (const [path] of await stale()) {
    process.stderr.write(`${path} is out of date: run \`pnpm generate\`\n`)
    process.exitCode = 1
  }
} else {
  if (!values.missing) for (const [path, text] of await stale()) await writeFile(new URL(path, root), text)
  const wanted = values.missing ? dialects.filter((dialect) => !hasClient(dialect)) : dialects
  await Promise.all(wanted.map(generateClient))
}
