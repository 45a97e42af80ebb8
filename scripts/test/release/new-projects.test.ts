import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installOffline } from '../../release/install-offline.ts'
import { packAll } from '../../release/packages.ts'
import { ROOT } from '../../start/root.ts'

// What `npm create oncue` and `oncue init` write, below a folder in which the packed packages are installed. The template that
// needs packages from npm is tried in `pnpm sdk`.

const run = promisify(execFile)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncue-new-'))
  await installOffline(folder, await packAll(folder))
  const types = join(folder, 'node_modules/@types/node')
  await cp(join(ROOT, 'node_modules/@types/node'), types, { recursive: true, dereference: true })
  const undici = join(ROOT, 'node_modules/@types/node')
  await cp(join(await realpath(undici), '../../undici-types'), join(folder, 'node_modules/undici-types'), {
    ...{ recursive: true, dereference: true },
  })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** With this Node. */
async function node(home: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, args, { cwd: home, env: {} }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`node ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout
}

const compile = (home: string) => node(home, join(ROOT, 'node_modules/typescript/lib/tsc.js'), '-p', '.')
const installed = (path: string) => join(folder, 'node_modules', path)

describe('a project from the template worker', () => {
  let home: string
  beforeAll(async () => {
    home = join(folder, 'created')
    await node(folder, installed('create-oncue/dist/main.js'), home, '--yes', '--no-install')
  })

  test('compiles strictly', async () => {
    await compile(home)
  })

  test('passes its tests', async () => {
    expect(await node(home, '--test')).toMatch(/pass 2\n/)
  })

  test('runs its first job', async () => {
    const output = await node(home, 'src/first-job.ts')
    expect(output).toBe('first job: completed {"sentTo":"ada@example.com"}\n')
  })
})

const STRICT = {
  ...{ target: 'ES2023', module: 'NodeNext', types: ['node'], strict: true, noEmit: true },
  ...{ noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, verbatimModuleSyntax: true },
}

test.each([
  ['a module', { type: 'module' }, STRICT],
  ['CommonJS', { type: 'commonjs' }, STRICT],
  [
    'Next.js',
    { dependencies: { next: '*' } },
    { ...STRICT, module: 'ESNext', moduleResolution: 'Bundler', allowJs: true, verbatimModuleSyntax: false },
  ],
])('what oncue init adds to %s compiles strictly', async (name, manifest, compilerOptions) => {
  const home = join(folder, name.replace(/\W/g, '-'))
  await mkdir(home)
  await writeFile(join(home, 'package.json'), JSON.stringify(manifest))
  // As people and tools write it.
  const config = JSON.stringify({ compilerOptions }, null, 2).replace('{', '{\n  // strict')
  await writeFile(join(home, 'tsconfig.json'), config)
  await node(home, installed('oncue/dist/main.js'), 'init', '--yes')
  await compile(home)
})
