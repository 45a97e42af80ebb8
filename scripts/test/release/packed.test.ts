import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pack, unpack } from '../../release/packages.ts'
import { compile } from '../../release/project.ts'
import { compileConsumer, MAX_INSTANTIATIONS, PROJECTS } from '../../release/try-client.ts'
import { ROOT } from '../../start/root.ts'

const HOME = join(ROOT, 'packages/sdk')
/** Below node_modules, so that zod and vitest are found, and the packed package comes before the source. */
const SHELF = join(HOME, 'node_modules')

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(SHELF, '.packed-'))
  const installed = join(folder, 'node_modules/@oncue/sdk')
  await mkdir(installed, { recursive: true })
  const { tarball } = await pack(HOME, folder)
  await unpack(tarball, installed)
  const one = join(folder, 'node_modules/oncue')
  await mkdir(one)
  await unpack((await pack(join(ROOT, 'packages/oncue'), folder)).tarball, one)
  // A package of its own: inside ours the name of the SDK resolves to its source.
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the published types', () => {
  it.each(PROJECTS)('compile strictly in a program: $type, $resolution', async (project) => {
    const home = join(folder, `${project.type}-${project.resolution}`)
    const instantiations = await compileConsumer(home, project)
    expect(instantiations).toBeGreaterThan(0)
    expect(instantiations).toBeLessThanOrEqual(MAX_INSTANTIATIONS)
  })

  it('pass types.test.ts like those of the source', async () => {
    await cp(join(HOME, 'test/types.test.ts'), join(folder, 'types.test.ts'))
    const options = { noEmit: true, skipLibCheck: true, lib: ['ES2023', 'DOM', 'DOM.AsyncIterable'] }
    await compile(folder, { resolution: 'NodeNext', files: ['types.test.ts'], options })
  })
})

describe.each(['import', 'require'])('what is published, as React Native finds it by %s', (condition) => {
  it.each(['@oncue/sdk', '@oncue/sdk/react', '@oncue/sdk/testing', 'oncue/client', 'oncue/react'])(
    '%s needs nothing of Node',
    async (entry) => {
      const refused: string[] = []
      const build = await rolldown({
        cwd: folder,
        input: entry,
        platform: 'neutral',
        external: ['react'],
        resolve: { conditionNames: ['react-native', condition, 'default'], mainFields: ['module', 'main'] },
        onLog: (_, log) => void refused.push(log.message),
      })
      const { output } = await build.generate({ format: 'esm', minify: true })
      await build.close()
      const [{ code, imports, moduleIds }] = output
      expect({ imports, refused }).toEqual({
        imports: entry.endsWith('/react') ? ['react'] : [],
        refused: [],
      })
      expect(moduleIds.some((id) => id.startsWith(join(folder, 'node_modules/@oncue/sdk/dist')))).toBe(true)
      expect(code).not.toMatch(/\bnode:|\bBuffer\b|\bprocess\.|\brequire\(/)
    },
  )
})
