import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { TRANSITIONS } from '@oncue/core/internal'
import { describe, expect, test } from 'vitest'
import { anchorsOf, blocksOf, DOCUMENTS, proseOf, ROOT, readDocument } from './markdown.ts'

const FOLDERS = /^(packages|apps|prisma|bench|examples|scripts|docs|\.ci|\.github)\//

describe.each(DOCUMENTS)('%s', (document) => {
  test('links only to files that exist', () => {
    const targets = [...proseOf(document).matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)].map(
      ([, target = '']) => target,
    )
    const missing = targets.filter((target) => !existsSync(join(ROOT, dirname(document), target)))
    expect(missing).toEqual([])
  })

  test('links only to headings that exist', () => {
    const links = [...proseOf(document).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)]
    const dead = links.filter(([, target = '', anchor = '']) => {
      const page = target === '' ? document : join(dirname(document), target)
      return !(DOCUMENTS.includes(page) && anchorsOf(page).has(anchor))
    })
    expect(dead.map(([link]) => link)).toEqual([])
  })

  test('names only files that exist', () => {
    const spans = [...proseOf(document).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
    // Patterns (`docs/adr/*.md`, `prisma/<dialect>`) and files that the build makes are not checked.
    const paths = spans.filter(
      (span) => FOLDERS.test(span) && /^[\w./-]+$/.test(span) && !/dist|\.\.\./.test(span),
    )
    const isThere = (path: string) =>
      [ROOT, join(ROOT, dirname(document))].some((home) => existsSync(join(home, path)))
    expect(paths.filter((path) => !isThere(path))).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  test('draws exactly the transitions of packages/core/src/job/states.ts', () => {
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

  test('lists exactly the tables of prisma/models.prisma', () => {
    const models = readFileSync(join(ROOT, 'prisma/models.prisma'), 'utf8')
    const [section = ''] = readDocument('ARCHITECTURE.md').split('## Data model')[1]?.split('\n## ') ?? []
    const listed = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, table]) => table)
    const known = [...models.matchAll(/@@map\("(\w+)"\)/g)].map(([, table]) => table)
    expect(listed.sort()).toEqual(known.sort())
  })
})

test.each(['postgres', 'sqlite'])(
  'packages/db/src/%s/README.md lists exactly the files beside it',
  (dialect) => {
    const folder = `packages/db/src/${dialect}`
    const [section = ''] = readDocument(`${folder}/README.md`).split('## Files')[1]?.split('\n## ') ?? []
    const listed = [...section.matchAll(/^\| `([^`]+\.ts)`/gm)].map(([, path]) => path)
    const known = globSync('**/*.ts', { cwd: join(ROOT, folder) })
    expect(listed.sort()).toEqual(known.filter((path) => !path.endsWith('.test.ts')).sort())
  },
)

describe('what users of npm read', () => {
  // Starts with an npm project, and continues with a clone of the repository; so does the page on how the app was
  // tested.
  const ABOUT_A_CLONE = ['docs/guides/getting-started.md', 'docs/guides/app.md']
  const pages = globSync(
    [
      'docs/guides/*.md',
      'docs/errors.md',
      '{packages/{core,db,logger,oncue,runtime,sdk},apps/{api,worker}}/README.md',
    ],
    {
      cwd: ROOT,
    },
  )

  test.each(pages.filter((page) => !ABOUT_A_CLONE.includes(page)))('%s names no pnpm', (page) => {
    expect(readDocument(page)).not.toMatch(/\bpnpm\b/)
  })

  test('nor do the messages of the published packages', () => {
    const sources = globSync('{packages/{core,db,logger,oncue,runtime,sdk},apps/{api,worker}}/src/**/*.ts', {
      cwd: ROOT,
    })
    const said = sources
      .filter((path) => !/\.test\.ts$|\/(generated|testing|conformance)\//.test(path))
      // It finds out which package manager a project uses.
      .filter((path) => path !== 'packages/oncue/src/project.ts')
      .flatMap((path) => readFileSync(join(ROOT, path), 'utf8').split('\n'))
      .filter((line) => /\bpnpm\b/.test(line) && !/^\s*(\/\/|\*|\/\*)/.test(line))
    expect(said).toEqual([])
  })

  test.each([
    'README.md',
    'docs/guides/getting-started.md',
    'docs/guides/production.md',
    'apps/worker/README.md',
    'packages/oncue/README.md',
  ])('%s says that a project needs "type": "module"', (page) => {
    expect(readDocument(page)).toContain('"type": "module"')
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
