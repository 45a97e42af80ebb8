/**
 * Writes both Prisma schemas from models.prisma and generates both clients into packages/db.
 * `--check` writes nothing and fails when a schema is not what models.prisma gives.
 */
import { execFile } from 'node:child_process'
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

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })

if (values.check) {
  for (const dialect of dialects) {
    if (await isCurrent(dialect)) continue
    process.stderr.write(`prisma/${dialect}/schema.prisma is out of date: run \`pnpm generate\`\n`)
    process.exitCode = 1
  }
} else {
  await Promise.all(dialects.map(generate))
}
