import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A fenced block: what stands behind the backticks, its content, and where it begins. */
export interface Block {
  readonly document: string
  /** Of its first line of code, counted from 1. */
  readonly line: number
  readonly info: string
  readonly code: string
}

const PATTERNS = [
  '{README,ARCHITECTURE,CONTRIBUTING,CHANGELOG}.md',
  '{prisma,bench}/README.md',
  'packages/{core,db,runtime}/README.md',
  'packages/db/src/{portable,postgres,sqlite}/README.md',
  'packages/sdk/src/README.md',
  'apps/{api,worker}/{,src/}README.md',
  'prisma/postgres/functions/README.md',
  'docs/**/*.md',
]

/** Paths of the documents that are held to what they say, from the root of the repository. */
export const DOCUMENTS: readonly string[] = globSync(PATTERNS, { cwd: ROOT })
  .map((path) => path.replaceAll('\\', '/'))
  .sort()

export function readDocument(document: string): string {
  return readFileSync(new URL(`../${document}`, import.meta.url), 'utf8').replaceAll('\r\n', '\n')
}

export function blocksOf(document: string): Block[] {
  const text = readDocument(document)
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(({ 1: info = '', 2: code = '', index }) => ({
    document,
    line: text.slice(0, index).split('\n').length + 1,
    info,
    code,
  }))
}

/** The text without its blocks, so that nothing in them is taken for a link or a table. */
export function proseOf(document: string): string {
  return readDocument(document).replaceAll(/^```.*\n[\s\S]*?^```$/gm, '')
}
