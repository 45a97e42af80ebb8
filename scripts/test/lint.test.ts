import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RULES = ['time-and-chance', 'tests-beside-sources', 'waiting'].map(
  (rule) => `scripts/lint/${rule}.grit`,
)

type Diagnostic = { category: string; location: { path: string; start: { line: number } } }

/** The lines that the rules refuse, by file, in a repository with these files. */
function lint(files: Record<string, readonly string[]>): Map<string, number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'oncue-lint-'))
  try {
    for (const file of ['biome.json', ...RULES]) cpSync(join(ROOT, file), join(folder, file))
    for (const [path, lines] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), `${lines.join('\n')}\n`)
    }
    const args = ['lint', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none', '.']
    const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/biome'), args, {
      cwd: folder,
      encoding: 'utf8',
    })
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] }
    const found = new Map<string, number[]>()
    for (const { category, location } of diagnostics) {
      if (category !== 'plugin') continue
      const lines = new Set([...(found.get(location.path) ?? []), location.start.line])
      found.set(
        location.path,
        [...lines].sort((a, b) => a - b),
      )
    }
    return found
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const FORBIDDEN = [
  "import { setTimeout as delay } from 'node:timers/promises'",
  "import timers from 'timers'",
  'export const a = Date.now()',
  'export const b = new Date()',
  'export const c = () => performance.now()',
  'export const d = setTimeout(() => {}, 5)',
  'export const e = new Promise(setImmediate)',
  'export const f = setInterval(() => delay, 5)',
  'export const g = AbortSignal.timeout(5)',
  'export const h = [1, 2].map(Math.random)',
  'export const i = crypto.randomUUID()',
  'export const j = Date.now',
]
const ALLOWED = [
  "import { createHash } from 'node:crypto'",
  'export const a = new Date(0)',
  'export const b = (socket: { setTimeout(ms: number): void }) => socket.setTimeout(5)',
  'export const c = Math.max(Date.UTC(2026, 0, 1), 2)',
  "export const d = createHash('sha256')",
]

const ONE = ['export const a = Date.now()']
const KEPT = [
  'apps/api/src/live/made-up.ts',
  'packages/core/src/made-up.ts',
  'packages/db/src/portable/reads/made-up.ts',
  'packages/logger/src/made-up.ts',
  'packages/oncue/src/made-up.ts',
  'packages/runtime/src/made-up.ts',
  'packages/sdk/src/made-up.ts',
  'apps/worker/src/dispatch/made-up.ts',
]
const LEFT_APART = [
  'packages/runtime/src/clock.ts',
  'packages/core/src/job/clock.ts',
  'packages/sdk/src/deadline.ts',
  'apps/api/src/live/made-up.test.ts',
  'apps/api/test/made-up.ts',
  'packages/db/src/made-up.test.ts',
  'packages/db/test/support/made-up.ts',
  'packages/db/test/made-up.ts',
  'bench/src/made-up.ts',
  'apps/mobile/src/made-up.ts',
]

describe('time and random numbers', () => {
  let found: Map<string, number[]>
  beforeAll(() => {
    found = lint({
      'packages/db/src/forbidden.ts': FORBIDDEN,
      'packages/db/src/allowed.ts': ALLOWED,
      ...Object.fromEntries([...KEPT, ...LEFT_APART].map((path) => [path, ONE])),
    })
  })

  test('come from a runtime: using the platform directly is refused', () => {
    expect(found.get('packages/db/src/forbidden.ts')).toEqual(FORBIDDEN.map((_, n) => n + 1))
    expect(found.get('packages/db/src/allowed.ts')).toBeUndefined()
  })

  test.each(KEPT)('are checked in %s', (path) => expect(found.get(path)).toEqual([1]))
  test.each(LEFT_APART)('are not checked in %s', (path) => expect(found.get(path)).toBeUndefined())
})

describe('tests beside their source', () => {
  const NEEDS_MORE = [
    "import { execFile } from 'node:child_process'",
    "import cluster from 'cluster'",
    "import pg from 'pg'",
    "import Database from 'better-sqlite3'",
    "import { createSqliteDatabase } from '@oncue/db/testing'",
    "import { describeStore } from '@oncue/db/conformance'",
    "import { startPostgres } from '../../test/support/index.ts'",
    "export const a = openStore('file:a.db')",
    "export const b = inject('postgresUrl')",
  ]
  const PURE = [
    "import { createServer } from 'node:http'",
    "import { prepareJob } from '@oncue/core'",
    "import { jobOf } from '../../testing/job.ts'",
    "import { claiming } from '../../test/conformance/harness.ts'",
  ]
  const BESIDE = [
    'apps/api/src/live/made-up.test.ts',
    'apps/mobile/src/made-up.test.tsx',
    'scripts/start/a.test.ts',
  ]
  const APART = [
    'packages/db/test/made-up.test.ts',
    'scripts/test/made-up.test.ts',
    'examples/demo/made-up.test.ts',
    'packages/db/src/sqlite/made-up.ts',
  ]
  let found: Map<string, number[]>
  beforeAll(() => {
    found = lint({
      'packages/db/src/forbidden.test.ts': NEEDS_MORE,
      'packages/db/src/allowed.test.ts': PURE,
      ...Object.fromEntries([...BESIDE, ...APART].map((path) => [path, NEEDS_MORE.slice(0, 1)])),
    })
  })

  test('need no database and no process', () => {
    expect(found.get('packages/db/src/forbidden.test.ts')).toEqual(NEEDS_MORE.map((_, n) => n + 1))
    expect(found.get('packages/db/src/allowed.test.ts')).toBeUndefined()
  })

  test.each(BESIDE)('include %s', (path) => expect(found.get(path)).toEqual([1]))
  test.each(APART)('do not include %s', (path) => expect(found.get(path)).toBeUndefined())
})

describe('tests that wait', () => {
  const BARE = [
    "import { setTimeout as delay } from 'node:timers/promises'",
    'export const a = new Promise((resolve) => setTimeout(resolve, 20))',
    'export const b = setInterval(() => delay, 5)',
    'export const c = (vi: { waitFor(x: unknown): void }) => vi.waitFor(b)',
    'export const d = (vi: { waitUntil(x: unknown): void }) => vi.waitUntil(b)',
  ]
  const FINE = [
    "import { eventually, nap, observeFor, until } from '@oncue/testing'",
    'export const a = [eventually, nap, observeFor, until]',
    'export const b = new Promise(setImmediate)',
    "export const c = 'setTimeout(() => {}, 5)'",
  ]
  const TESTS = [
    'apps/api/test/made-up.test.ts',
    'apps/worker/src/run/made-up.test.ts',
    'apps/mobile/e2e/web/made-up.e2e.ts',
    'packages/db/test/support/made-up.ts',
    'examples/demo/made-up.test.ts',
  ]
  const OTHERS = ['packages/testing/src/wait.ts', 'examples/demo/demo.ts', 'bench/src/made-up.ts']
  let found: Map<string, number[]>
  beforeAll(() => {
    found = lint({
      'packages/db/test/forbidden.test.ts': BARE,
      'packages/db/test/allowed.test.ts': FINE,
      ...Object.fromEntries([...TESTS, ...OTHERS].map((path) => [path, BARE.slice(1, 2)])),
    })
  })

  test('use a signal or a helper, not a bare timer', () => {
    expect(found.get('packages/db/test/forbidden.test.ts')).toEqual(BARE.map((_, n) => n + 1))
    expect(found.get('packages/db/test/allowed.test.ts')).toBeUndefined()
  })

  test.each(TESTS)('include %s', (path) => expect(found.get(path)).toEqual([1]))
  test.each(OTHERS)('do not include %s', (path) => expect(found.get(path)).toBeUndefined())
})
