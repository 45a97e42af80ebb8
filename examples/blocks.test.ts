import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ERRORS } from '@oncue/core'
import { describe, expect, test } from 'vitest'
import { type Block, blocksOf, DOCUMENTS, ROOT, readDocument } from './markdown.ts'

const blocks = DOCUMENTS.flatMap(blocksOf)

/** How a block is checked, by its kind. */
const CHECKED: Readonly<Record<string, string>> = {
  ts: 'compiled and run: snippets.test.ts',
  sh: 'its commands and options exist, its requests are made: commands.test.ts',
  '': 'a tree: its paths exist, below',
  json: 'an error of the API: as the table of errors has it, below',
  'json config': 'what an editor starts: a command of the same page, below',
}

/** Blocks of other kinds: where they are checked, or why they are not. */
const SINGLY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'ts excerpt': {
    'docs/guides/transactions.md': 'the program is examples/payment-check, which is compiled and run',
    'prisma/README.md': 'its tables: packages/db/test/host-project.test.ts',
  },
  sql: {
    'docs/guides/production.md': 'run: grants.test.ts',
    'docs/guides/transactions.md': 'run: sql-enqueue.test.ts',
    'docs/adr/0026-old-code-beside-a-newer-database.md': 'a comment, not a statement',
  },
  text: { 'docs/guides/getting-started.md': 'scripts/start/greeting.test.ts' },
  bash: {
    'packages/create-oncue/templates/hono-drizzle/README.md': 'packages/create-oncue/test/create.test.ts',
    'packages/create-oncue/templates/nest/README.md': 'packages/create-oncue/test/create.test.ts',
    'packages/create-oncue/templates/next/README.md': 'packages/create-oncue/test/create.test.ts',
    'packages/create-oncue/templates/worker/README.md': 'packages/create-oncue/test/create.test.ts',
  },
  dockerfile: { 'docs/guides/production.md': 'not checked: tests have no Docker' },
  mermaid: {
    'ARCHITECTURE.md': 'its states: documents.test.ts; otherwise a drawing',
    'README.md': 'not checked: a drawing',
    'apps/api/src/README.md': 'not checked: a drawing',
    'apps/mobile/README.md': 'not checked: a drawing',
    'apps/worker/src/README.md': 'not checked: a drawing',
    'docs/guides/keys.md': 'not checked: a drawing',
  },
}

const placeOf = ({ document, line }: Block) => `${document}:${line}`

describe('every block of code', () => {
  test('is checked, or listed with the reason why not', () => {
    const known = ({ info, document }: Block) => info in CHECKED || SINGLY[info]?.[document] !== undefined
    expect(blocks.filter((block) => !known(block)).map(placeOf)).toEqual([])
  })

  test('that is listed exists', () => {
    const listed = Object.entries(SINGLY).flatMap(([info, pages]) =>
      Object.keys(pages).map((document) => `${info} ${document}`),
    )
    const found = new Set(blocks.map(({ info, document }) => `${info} ${document}`))
    expect(listed.filter((entry) => !found.has(entry))).toEqual([])
  })

  test.each(DOCUMENTS)('of %s is found: it begins and ends at the start of a line', (document) => {
    const fences = readDocument(document).match(/^[ >]*(```|~~~)/gm) ?? []
    expect(fences).toHaveLength(2 * blocksOf(document).length)
  })
})

/** A folder at the start of a line, and what is in it, further in. */
function pathsOf({ code, document }: Block): string[] {
  let home = ''
  return code.split('\n').flatMap((line) => {
    const columns = line.split(/ {2,}/).filter((column) => /^[\w.-]+(\/[\w.-]+)*\/?( |$)/.test(column))
    const [first = ''] = line.split(' ')
    if (first !== '') {
      home = first
      return [join(dirname(document), first)]
    }
    const paths = columns.map((column) => column.split(' ')[0] ?? '').filter((path) => path.includes('/'))
    return paths.map((path) => join(dirname(document), home, path))
  })
}

test.each(blocks.filter(({ info }) => info === ''))(
  '$document:$line is a tree of existing files',
  (block) => {
    const paths = pathsOf(block).filter((path) => !path.includes('<'))
    expect(paths.length).toBeGreaterThan(5)
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  },
)

test.each(blocks.filter(({ info }) => info === 'json'))(
  '$document:$line is an error of the table',
  (block) => {
    const { error } = JSON.parse(block.code) as { error: { code: keyof typeof ERRORS; hint: string } }
    expect(ERRORS[error.code]?.hint).toBe(error.hint)
  },
)

test.each(blocks.filter(({ info }) => info === 'json config'))(
  '$document:$line starts a command of the page',
  ({ document, code }) => {
    const { mcpServers } = JSON.parse(code) as { mcpServers: { oncue: { command: string; args: string[] } } }
    const { command, args } = mcpServers.oncue
    const typed = blocksOf(document).flatMap((block) => (block.info === 'sh' ? block.code.split('\n') : []))
    expect(typed).toContain([command, ...args].join(' '))
  },
)
