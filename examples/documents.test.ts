import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TRANSITIONS } from '@oncue/core'
import { describe, expect, test } from 'vitest'
import { blocksOf, DOCUMENTS, proseOf, ROOT, readDocument } from './markdown.ts'

const FOLDERS = /^(packages|apps|prisma|bench|examples|docs|\.ci|\.github)\//

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
})
