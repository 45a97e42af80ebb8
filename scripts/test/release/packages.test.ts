import { globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProblems } from '../../release/check-package.ts'
import { PACKAGES, type Packed, pack, packAll } from '../../release/packages.ts'
import { MAX_SDK_BYTES, sdkBytes } from '../../release/sdk-size.ts'
import { ROOT } from '../../start/root.ts'

// Checks that need the network (installing the tarballs, and using them) are part of `pnpm sdk`.

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncue-packages-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the packages', () => {
  let packages: Packed[]
  beforeAll(async () => {
    packages = await packAll(folder)
  })

  it('are all that are not private', () => {
    const manifests = globSync('{packages,apps}/*/package.json', { cwd: ROOT })
    const isPublic = (path: string) => !JSON.parse(readFileSync(join(ROOT, path), 'utf8')).private
    expect(manifests.filter(isPublic).map(dirname).sort()).toEqual([...PACKAGES].sort())
  })

  it.each(PACKAGES)('%s can be published', async (path) => {
    const packed = packages.find(({ home }) => home === join(ROOT, path))
    expect(packed && (await findProblems(packed))).toEqual([])
  })

  it('name only types that the oldest zod they support has', () => {
    const oldest = join(ROOT, 'scripts/node_modules/zod-oldest')
    const { version } = JSON.parse(readFileSync(join(oldest, 'package.json'), 'utf8'))
    const readAll = (cwd: string, pattern: string) =>
      globSync(pattern, { cwd }).map((path) => readFileSync(join(cwd, path), 'utf8'))
    const has = new Set(
      readAll(oldest, 'v4/{classic,core}/*.d.ts').flatMap((text) => text.match(/[$\w]+/g) ?? []),
    )
    for (const { home, manifest } of packages) {
      expect(manifest.peerDependencies?.zod ?? `^${version}`).toBe(`^${version}`)
      const named = readAll(home, 'dist/**/*.d.{ts,cts}').flatMap((text) => [
        ...text.matchAll(/\bz\.(?:core\.)?([$\w]+)/g),
      ])
      expect({ [manifest.name]: named.filter(([, name = '']) => !has.has(name)) }).toEqual({
        [manifest.name]: [],
      })
    }
  })

  it('are released together, dependencies first', () => {
    expect(new Set(packages.map(({ manifest }) => manifest.version)).size).toBe(1)
    const names = packages.map(({ manifest }) => manifest.name)
    for (const [index, { manifest }] of packages.entries()) {
      const ours = Object.entries(manifest.dependencies ?? {}).filter(([name]) => name.startsWith('@oncue/'))
      for (const [name, version] of ours) {
        expect(names.slice(0, index)).toContain(name)
        expect(version).toBe(manifest.version)
      }
    }
    const { fixed } = JSON.parse(readFileSync(join(ROOT, '.changeset/config.json'), 'utf8'))
    expect(fixed).toEqual([[...names].sort()])
  })
})

it('the SDK is small, with all files that an app loads', async () => {
  expect(await sdkBytes()).toBeLessThanOrEqual(MAX_SDK_BYTES)
})

describe('a package', () => {
  async function problemsOf(manifest: object, files: Record<string, string>): Promise<string[]> {
    const home = await mkdtemp(join(folder, 'broken-'))
    const all = { 'package.json': JSON.stringify({ version: '1.0.0', ...manifest }), ...files }
    for (const [path, text] of Object.entries(all)) {
      await mkdir(dirname(join(home, path)), { recursive: true })
      await writeFile(join(home, path), text)
    }
    return findProblems(await pack(home, home))
  }

  it('that others could not use is refused, with everything that is wrong', async () => {
    const manifest = {
      name: 'broken',
      type: 'module',
      bin: { broken: './dist/cli.js' },
      exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
      dependencies: { other: 'file:../other' },
    }
    const problems = await problemsOf(manifest, {
      'dist/cli.js': 'export {}',
      'dist/index.js': `import { z } from 'zod'\nimport { a } from './a.js'\nexport * from 'node:fs'\nawait import('pg')`,
      'dist/testing/index.js': 'export {}',
      'src/index.ts': 'export {}',
    })
    const [byTools, ours] = [/^(publint|attw): /, /^(?!publint|attw)/].map((pattern) =>
      problems.filter((problem) => pattern.test(problem)),
    )
    expect(ours).toEqual([
      'other is asked for as file:../other',
      'it does not say which Node it needs',
      'README.md is missing: is it built?',
      'LICENSE is missing: is it built?',
      'dist/index.d.ts is missing: is it built?',
      'dist/testing/index.js is nothing for others',
      'src/index.ts is nothing for others',
      'dist/cli.js has no source: remove dist, and build',
      'dist/testing/index.js has no source: remove dist, and build',
      'broken is no program',
      'dist/index.js imports zod',
      'dist/index.js imports pg',
    ])
    expect(byTools).toHaveLength(2)
  })
})
