import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ADMIN_TOKEN, startServer, TestServer } from '@oncue/api/testing'
import { createEmptyPostgresDatabase } from '@oncue/db/testing'
import { type RunningWorker, silentLogger, startWorker } from '@oncue/worker'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type Block, blocksOf, DOCUMENTS, ROOT } from './markdown.ts'

const run = promisify(execFile)
const COMPILER_TIMEOUT_MS = 180_000

const blocks = DOCUMENTS.flatMap(blocksOf).filter(({ info }) => /^(ts|typescript)\b/.test(info))
const snippets = blocks.filter(({ info }) => info === 'ts')
const excerpts = blocks.filter(({ info }) => info !== 'ts')

/** The expected output: the comments after `console.log(…)`. */
function promised({ code }: Block): string[] {
  return [...code.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text = '']) => text)
}

/** The address of the server of a snippet: one listens there while it runs. */
const PLACE = 'https://oncue.example.com'

describe('the snippets of the documents', () => {
  let folder: string
  let server: TestServer
  let worker: RunningWorker
  const fileOf = ({ document, line }: Block) =>
    join(folder, `${document.replace(/\.md$/, '').replaceAll('/', '-')}-${line}.ts`)

  // Inside the repository, where the imports of a snippet resolve as they would for a reader.
  beforeAll(async () => {
    const home = join(ROOT, 'examples/.snippets')
    await mkdir(home, { recursive: true })
    server = new TestServer(await startServer({ database: 'sqlite' }))
    const { store } = server
    worker = await startWorker({ store, workers: { mail_digest: () => ({ sent: 3 }) }, log: silentLogger })
    folder = await mkdtemp(join(home, 'run-'))
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'] }),
    )
    // Shifted to its line in the document, so that errors name that line.
    for (const snippet of snippets) {
      const code = snippet.code.replaceAll(PLACE, server.url).replaceAll(`'oncue_…'`, `'${ADMIN_TOKEN}'`)
      await writeFile(fileOf(snippet), '\n'.repeat(snippet.line - 1) + code)
    }
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
    await worker.stop()
    await server.close()
  })

  test('exist, and nearly all of them are complete', () => {
    expect(snippets.length).toBeGreaterThan(0)
    expect(excerpts.map(({ info }) => info)).toEqual(excerpts.map(() => 'ts excerpt'))
    expect(excerpts.length).toBeLessThanOrEqual(2)
  })

  test('of the README and the guides import what a project installs: oncue, and the API to start one', () => {
    const guides = blocks.filter(({ document }) => !/^(apps|packages)\//.test(document))
    const packages = guides.flatMap(({ code }) =>
      [...code.matchAll(/from '(@oncue\/[\w-]+)/g)].map(([, name = '']) => name),
    )
    expect([...new Set(packages)]).toEqual(['@oncue/api'])
  })

  test(
    'compile',
    async () => {
      const compiler = createRequire(import.meta.url).resolve('typescript/lib/tsc.js')
      const complaints = await run(process.execPath, [compiler, '-p', folder, '--pretty', 'false']).then(
        () => '',
        ({ stdout, message }: { stdout?: string; message: string }) => stdout || message,
      )
      expect(complaints).toBe('')
    },
    COMPILER_TIMEOUT_MS,
  )

  test.each(snippets)('$document:$line runs, and prints what its comments say', async (snippet) => {
    const database = snippet.code.includes('DATABASE_URL')
      ? await createEmptyPostgresDatabase(inject('postgresUrl'))
      : undefined
    try {
      const { stdout } = await run(process.execPath, [fileOf(snippet)], {
        env: { ...(database && { DATABASE_URL: database.url }) },
      })
      expect(stdout.split('\n').slice(0, -1)).toEqual(promised(snippet))
    } finally {
      await database?.drop()
    }
  })
})
