import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { TRANSITIONS } from '@oncue/core'
import { describe, expect, test } from 'vitest'
import { blocksOf, DOCUMENTS, proseOf, ROOT, readDocument } from './markdown.ts'

const FOLDERS = /^(packages|apps|prisma|bench|examples|scripts|docs|\.ci|\.github)\//

describe.each(DOCUMENTS)('%s', (document) => {
  test('links only to what is there', () => {
    const targets = [...proseOf(document).matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)].map(
      ([, target = '']) => target,
    )
    const missing = targets.filter((target) => !existsSync(join(ROOT, dirname(document), target)))
    expect(missing).toEqual([])
  })

  test('names only files that are there', () => {
    const spans = [...proseOf(document).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
    // Patterns (`docs/adr/*.md`, `prisma/<dialect>`) and what the build makes are not looked for.
    const paths = spans.filter(
      (span) => FOLDERS.test(span) && /^[\w./-]+$/.test(span) && !/dist|\.\.\./.test(span),
    )
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  test('draws the transitions of packages/core/src/states.ts, all and no others', () => {
    const [diagram] = blocksOf('ARCHITECTURE.md').filter(({ code }) => code.startsWith('stateDiagram'))
    const arrows = [...(diagram?.code ?? '').matchAll(/^ *(\w+) --> (\w+): (.+)$/gm)]
    const drawn = arrows.flatMap(([, from, to, names = '']) =>
      names.split(', ').map((name) => `${from} ${name} ${to}`),
    )
    const known = Object.entries(TRANSITIONS).flatMap(([name, { from, to }]) =>
      from.map((status) => `${status} ${name} ${to}`),
    )
    expect(drawn.sort()).toEqual(known.sort())
  })

  test('lists the tables of prisma/models.prisma, all and no others', () => {
    const models = readFileSync(join(ROOT, 'prisma/models.prisma'), 'utf8')
    const [section = ''] = readDocument('ARCHITECTURE.md').split('## Data model')[1]?.split('\n## ') ?? []
    const listed = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, table]) => table)
    const known = [...models.matchAll(/@@map\("(\w+)"\)/g)].map(([, table]) => table)
    expect(listed.sort()).toEqual(known.sort())
  })

  test.each(['postgres', 'sqlite'])('lists the files of packages/db/src/%s, all and no others', (dialect) => {
    const column = dialect === 'postgres' ? 1 : 2
    const [section = ''] =
      readDocument('ARCHITECTURE.md').split('## The two dialect folders')[1]?.split('\n## ') ?? []
    const rows = section.split('\n').map((line) => line.split('|')[column]?.trim() ?? '')
    const listed = rows.flatMap((cell) => /^`(.+\.ts)`$/.exec(cell)?.[1] ?? [])
    const known = globSync('**/*.ts', { cwd: join(ROOT, 'packages/db/src', dialect) })
    expect(listed.sort()).toEqual(known.filter((path) => !path.endsWith('.test.ts')).sort())
  })
})

test('docs/adr/README.md lists every decision, by its title', () => {
  const index = readDocument('docs/adr/README.md')
  const listed = [...index.matchAll(/\| \[(\d{4})\]\(([^)]+)\) +\| (.+?) +\|/g)].map(
    ([, number, file, title]) => `${file}: ${number} ${title}`,
  )
  const pages = DOCUMENTS.filter((path) => /^docs\/adr\/\d/.test(path))
  const known = pages.map((path) => `${basename(path)}: ${/^# (.+)$/m.exec(readDocument(path))?.[1]}`)
  expect(listed).toEqual(known)
})
