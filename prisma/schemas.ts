import { readFile } from 'node:fs/promises'

export const dialects = ['postgres', 'sqlite'] as const
export type Dialect = (typeof dialects)[number]

const providers: Record<Dialect, string> = { postgres: 'postgresql', sqlite: 'sqlite' }

export const schemaPath = (dialect: Dialect) => new URL(`./${dialect}/schema.prisma`, import.meta.url)

/** The Prisma schema of one dialect, written from the one description of the tables. */
export async function renderSchema(dialect: Dialect): Promise<string> {
  const models = await readFile(new URL('./models.prisma', import.meta.url), 'utf8')
  // The header of models.prisma is about that file; the generated schemas get their own.
  const blocks = models.slice(models.search(/^(\/\/\/|enum|model)/m))
  return `${header(dialect)}\n${dialect === 'postgres' ? inSchema(blocks) : withPrefix(blocks)}`
}

function header(dialect: Dialect): string {
  const schemas = dialect === 'postgres' ? '\n  schemas  = ["oncue"]' : ''
  return `// Written by generate.ts from models.prisma. Do not edit.

generator client {
  provider            = "prisma-client"
  output              = "../../packages/db/src/generated/${dialect}"
  runtime             = "nodejs"
  moduleFormat        = "esm"
  importFileExtension = "ts"
  compilerBuild       = "small"
}

datasource db {
  provider = "${providers[dialect]}"${schemas}
}
`
}

/** Postgres: everything is in the schema `oncue`, apart from the host's own tables. */
function inSchema(blocks: string): string {
  return blocks
    .replace(/^( +@@map\(.*\))$/gm, '$1\n  @@schema("oncue")')
    .replace(/^enum [\s\S]*?\n(?=\}$)/gm, '$&\n  @@schema("oncue")\n')
}

/** SQLite has no schemas, native types or functions: names have a prefix instead. */
function withPrefix(blocks: string): string {
  return blocks
    .replace(/\n\/\/\/ Postgres only:[\s\S]*?\n\}\n/g, '')
    .replace(/ +@db\.\w+(\([^)]*\))?/g, '')
    .replace(/^( +@@map\(")/gm, '$1oncue_')
    .replace(/(\bmap: ")/g, '$1oncue_')
}
