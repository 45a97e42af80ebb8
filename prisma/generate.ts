/**
 * Writes both Prisma schemas from models.prisma and generates both clients into packages/db.
 * `--check` writes nothing and fails when a schema is not what models.prisma gives. `--missing` only
 * generates clients that are not there, for commands that should start at once.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { prismaCli, prismaEnvironment } from './config.ts'
import { type Dialect, dialects, renderSchema, schemaPath } from './schemas.ts'

async function isCurrent(dialect: Dialect): Promise<boolean> {
  const written = await readFile(schemaPath(dialect), 'utf8').catch(() => '')
  return written.replaceAll('\r\n', '\n') === (await renderSchema(dialect))
}

async function generate(dialect: Dialect): Promise<void> {
  if (!(await isCurrent(dialect))) await writeFile(schemaPath(dialect), await renderSchema(dialect))
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
  for (const dialect of dialects) {
    if (await isCurrent(dialect)) continue
    process.stderr.write(`prisma/${dialect}/schema.prisma is out of date: run \`pnpm generate\`\n`)
    process.exitCode = 1
  }
} else {
  const wanted = values.missing ? dialects.filter((dialect) => !hasClient(dialect)) : dialects
  await Promise.all(wanted.map(generate))
}
