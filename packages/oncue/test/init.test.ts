import { existsSync, globSync } from 'node:fs'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder, type Folder } from '@oncue/testing'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { run, runOnTerminal, start } from './harness.ts'

let folder: Folder
beforeEach(async () => {
  folder = await createFolder()
})
afterEach(() => folder.remove())

async function given(files: Record<string, string | object>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true })
    const isText = typeof content === 'string'
    await folder.write(name, isText ? content : `${JSON.stringify(content, null, 2)}\n`)
  }
}

async function init(...args: string[]) {
  const outcome = await run(['init', ...args], { cwd: folder.path })
  return { ...outcome, json: args.includes('--json') ? JSON.parse(outcome.stdout) : null }
}

const text = (name: string) => readFile(join(folder.path, name), 'utf8')

/** Every file of the project and its text. */
async function all(): Promise<Record<string, string>> {
  const names = globSync('**/{*,.git*}', { cwd: folder.path, exclude: ['node_modules', '.oncue'] })
  const files = names.filter((name) => /\.\w+$/.test(name)).sort()
  return Object.fromEntries(await Promise.all(files.map(async (name) => [name, await text(name)] as const)))
}

const STRICT = {
  ...{ target: 'es2023', module: 'nodenext', strict: true, noEmit: true, skipLibCheck: true },
  ...{
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    types: ['node'],
  },
}

/** The packages as they are in the repository. */
async function install(): Promise<void> {
  await mkdir(join(folder.path, 'node_modules'))
  const packages = { oncue: '..', zod: '../node_modules/zod' }
  for (const [name, home] of Object.entries(packages))
    await symlink(fileURLToPath(new URL(home, import.meta.url)), join(folder.path, 'node_modules', name))
}

/** The files are found, run, and announce their topic. */
async function expectToRun(): Promise<void> {
  const process = start(['dev', '--port', '0'], {}, folder.path)
  onTestFinished(async () => void (await process.stop('SIGKILL')))
  expect(await process.said('worker started')).toMatchObject({ topics: ['greet'] })
  expect(await process.stop('SIGINT')).toBe(0)
}

const PROJECTS: [name: string, files: Record<string, string | object>, jobs: string][] = [
  [
    'TypeScript module with src/',
    { 'package.json': { type: 'module' }, 'src/main.ts': '', 'tsconfig.json': { compilerOptions: STRICT } },
    'src/jobs.ts',
  ],
  [
    'TypeScript, as npm init makes it',
    { 'package.json': { type: 'commonjs' }, 'tsconfig.json': { compilerOptions: STRICT } },
    'jobs.mts',
  ],
  [
    'Next.js',
    {
      'package.json': { dependencies: { next: '^16.0.0' } },
      'tsconfig.json': `{\n  // as create-next-app writes it\n  "compilerOptions": ${JSON.stringify({ ...STRICT, module: 'esnext', moduleResolution: 'bundler', allowJs: true, verbatimModuleSyntax: false })},\n}\n`,
    },
    'jobs.ts',
  ],
  ['JavaScript', { 'package.json': {} }, 'jobs.mjs'],
]

test.each(PROJECTS)('%s: what it writes runs; a second run changes nothing', async (_, files, jobs) => {
  await given(files)
  const { code, json } = await init('--yes', '--json')
  expect(code).toBe(0)
  expect(json).toMatchObject({ written: true, module: `./${jobs.replace('jobs', 'workers')}`, notes: [] })
  await install()
  await expectToRun()
  const before = await all()
  const second = await init('--yes', '--json')
  expect([second.code, second.json.changes, second.json.written]).toEqual([0, [], false])
  expect(await all()).toEqual(before)
})

test('shows the diff, and writes only after a yes', async () => {
  const manifest = '{\n\t"name": "shop",\n\t"scripts": {\n\t\t"test": "node --test"\n\t}\n}'
  await given({ 'package.json': manifest, '.gitignore': 'dist' })
  const before = await all()
  for (const args of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await init(...args)
    expect(code).toBe(args.length > 0 ? 0 : 2)
    expect(stdout).toContain('nothing was written')
    expect(stderr).toContain('change package.json')
    expect(stderr).toContain('+ \t\t"jobs:dev": "oncue dev",')
    expect(stderr).toContain('create workers.mjs\n+ import ')
    expect(await all()).toEqual(before)
  }
  const no = await runOnTerminal(['init'], 'Write this?', 'n', folder.path)
  expect([no.code, await all()]).toEqual([0, before])
  const yes = await runOnTerminal(['init'], 'Write this?', 'y', folder.path)
  expect(yes.code).toBe(0)
  expect(yes.output).toContain('npm install')
  expect(await text('.gitignore')).toBe('dist\n.oncue/\n')
  // Its indentation, its end and its order stay.
  expect(await text('package.json')).toMatch(
    /^\{\n\t"name": "shop",\n\t"scripts": \{\n\t\t"test": "node --test",\n\t\t"jobs:dev"[\s\S]*\}$/,
  )
})

test('replaces no file and no script of the project', async () => {
  await given({
    'package.json': { type: 'module', scripts: { 'jobs:dev': 'mine' }, dependencies: { zod: '^3.25.0' } },
    'tsconfig.json': { compilerOptions: { ...STRICT, allowImportingTsExtensions: true } },
    'src/jobs.ts': 'export const openings = []\n',
    '.gitignore': '/.oncue\n',
  })
  const { code, json } = await init('--yes', '--json')
  expect(code).toBe(0)
  expect(
    json.changes.map(({ path, action }: { path: string; action: string }) => `${action} ${path}`),
  ).toEqual(['create src/oncue/jobs.ts', 'create src/oncue/workers.ts', 'change package.json'])
  expect(json.notes).toEqual([
    "package.json has another script jobs:dev, which stays. Oncue's would be: oncue dev",
    'Oncue needs zod ^4.1.0; package.json asks for ^3.25.0',
  ])
  expect(await text('src/jobs.ts')).toBe('export const openings = []\n')
  expect(JSON.parse(await text('package.json'))).toMatchObject({
    scripts: { 'jobs:dev': 'mine', 'jobs:worker': 'oncue worker --import ./src/oncue/workers.ts' },
    dependencies: { zod: '^3.25.0', oncue: expect.any(String) },
  })
})

test('uses handlers that are there already', async () => {
  await given({
    'package.json': { type: 'module' },
    'src/jobs.js': 'export const workers = { async mail() {} }',
  })
  const { json } = await init('--yes', '--json')
  expect(json.module).toBe('./src/jobs.js')
  expect(existsSync(join(folder.path, 'src/workers.js'))).toBe(false)
})

test('comments of a tsconfig.json, and options of other programs in it, are none of the compiler', async () => {
  const tsconfig = `{
  // "compilerOptions": { "strict": false },
  "ts-node": { "compilerOptions": { "module": "commonjs" } },
  "compilerOptions": {
    "module": "nodenext",
    // "allowImportingTsExtensions": true,  /* as tsc --init writes it */
    // "moduleResolution": "node10",
    "strict": true
  }
}
`
  await given({ 'package.json': { type: 'module' }, 'tsconfig.json': tsconfig })
  const { code, json } = await init('--yes', '--json')
  expect([code, json.notes]).toEqual([0, []])
  const option = '\n    "rewriteRelativeImportExtensions": true,'
  expect(await text('tsconfig.json')).toBe(
    tsconfig.replace(/(\n {2}"compilerOptions": \{)/, (start) => start + option),
  )
})

test('a package.json with a byte order mark and lines of Windows keeps them, and a link stays a link', async () => {
  await given({ 'real.json': '\ufeff{\r\n  "scripts": {\r\n    "a": "b"\r\n  }\r\n}\r\n' })
  await symlink('real.json', join(folder.path, 'package.json'))
  expect((await init('--yes')).code).toBe(0)
  const written = await text('real.json')
  expect(JSON.parse(written.slice(1))).toMatchObject({ scripts: { a: 'b', 'jobs:dev': 'oncue dev' } })
  expect(written).toMatch(/^\ufeff\{\r\n/)
  expect(written.replaceAll('\r\n', '')).not.toContain('\n')
})

test('says how to enqueue in a transaction of the database that the project has', async () => {
  await given({
    'package.json': { dependencies: { 'drizzle-orm': '*', pg: '*', hono: '*' } },
    'yarn.lock': '',
  })
  const { stdout, stderr } = await init('--yes')
  expect(stderr).toMatch(/^found: JavaScript, type: not set, yarn, Hono, drizzle-orm$/m)
  expect(stdout).toContain('fromDrizzle(tx, sql)')
  expect(stdout).toContain('yarn run jobs:dev')
})

test('without a package.json, or with one that cannot be read, it says so', async () => {
  expect(await init('--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error INVALID_INPUT: There is no package.json in .*\nRun this in/),
  })
  await given({ 'package.json': '{' })
  expect(await init('--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error INVALID_JSON: /),
  })
})

test.each([
  ['pg', 'createQueue'],
  ['drizzle-orm', 'createQueue, fromDrizzle'],
  ['kysely', 'createQueue, fromKysely'],
  ['hono', 'createQueue, openStore'],
])('of a project with %s, says how to enqueue, imports included', async (name, imported) => {
  await given({ 'package.json': { type: 'module', dependencies: { [name]: '*' } } })
  const { stdout } = await init('--yes')
  expect(stdout).toContain(`  import { ${imported} } from 'oncue'\n\n  const queue = createQueue({`)
})
