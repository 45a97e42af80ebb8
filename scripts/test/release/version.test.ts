import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createFolder } from '@oncue/testing'
import { expect, it, onTestFinished } from 'vitest'
import { PACKAGES } from '../../release/packages.ts'
import { ROOT } from '../../start/root.ts'

const run = promisify(execFile)
const CHANGESET = join(dirname(fileURLToPath(import.meta.resolve('@changesets/cli/package.json'))), 'bin.js')

const read = (home: string, path: string) =>
  JSON.parse(readFileSync(join(home, path, 'package.json'), 'utf8')) as { version: string }
const fragments = readdirSync(join(ROOT, '.changeset')).filter(
  (file) => file.endsWith('.md') && file !== 'README.md',
)
const isMinor = fragments.some((file) =>
  /^['"].+: minor$/m.test(readFileSync(join(ROOT, '.changeset', file), 'utf8')),
)
const summaryOf = (file: string) =>
  readFileSync(join(ROOT, '.changeset', file), 'utf8')
    .replace(/^---\n.*?\n---\n/s, '')
    .trim()

/** After a release there is nothing to release until the next changeset. */
it.skipIf(fragments.length === 0)(
  'changeset version gives all packages the next version, and changelogs for people',
  async () => {
    const { path: copy, remove } = await createFolder()
    onTestFinished(remove)
    const files = [
      'package.json',
      'pnpm-workspace.yaml',
      '.changeset',
      ...PACKAGES.map((path) => `${path}/package.json`),
    ]
    for (const file of files) cpSync(join(ROOT, file), join(copy, file), { recursive: true })
    await run('git', ['init', '--quiet'], { cwd: copy })
    await run(process.execPath, [CHANGESET, 'version'], { cwd: copy })

    const [major, minor, patch] = read(ROOT, 'packages/oncue').version.split('.').map(Number)
    const next = isMinor ? `${major}.${Number(minor) + 1}.0` : `${major}.${minor}.${Number(patch) + 1}`
    const versions = PACKAGES.map((path) => `${path} ${read(copy, path).version}`)
    expect(versions).toEqual(PACKAGES.map((path) => `${path} ${next}`))
    const changelogs = PACKAGES.map((path) => join(copy, path, 'CHANGELOG.md')).filter((path) =>
      existsSync(path),
    )
    const text = changelogs
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n')
      .replaceAll('\n  ', '\n')
    expect(fragments.filter((file) => !text.includes(summaryOf(file)))).toEqual([])
    // No commits, and no lines for packages of ours.
    expect(text).not.toMatch(/^- [0-9a-f]{7}:|Updated dependencies|@oncue\/\w+@\d/m)
  },
)
