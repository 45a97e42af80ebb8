import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder, type Folder, runProgramFile } from '@oncue/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TEMPLATES } from '../src/templates.ts'

// What the projects do is tried in scripts/test/release and in `pnpm check:door`, from the packed packages.

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const PROGRAM = file('../src/main.ts')

let folder: Folder
beforeEach(async () => {
  folder = await createFolder()
})
afterEach(() => folder.remove())

const create = (...args: string[]) => runProgramFile(PROGRAM, args, { cwd: folder.path })
const filesIn = (path: string) => globSync('**/{*.*,.*}', { cwd: path }).sort()

test.each(Object.keys(TEMPLATES))(
  '%s is written whole, named after its folder, for this version',
  async (template) => {
    const { code, stdout } = await create('My Jobs', '--template', template, '--no-install', '--yes')
    expect([code, stdout]).toEqual([0, expect.stringContaining(`wrote the template ${template} to My Jobs`)])
    const written = filesIn(join(folder.path, 'My Jobs'))
    const names = filesIn(file(`../templates/${template}`)).concat(
      globSync('_*', { cwd: file(`../templates/${template}`) }),
    )
    expect(written).toEqual(names.map((name) => name.replace(/^_/, '.')).sort())
    expect(written).toContain('.gitignore')
    const { version } = JSON.parse(await readFile(file('../package.json'), 'utf8'))
    expect(JSON.parse(await readFile(join(folder.path, 'My Jobs/package.json'), 'utf8'))).toMatchObject({
      ...{ name: 'my-jobs', dependencies: { oncue: `^${version}` } },
    })
  },
)

test('a folder that is not empty is refused, and stays as it is', async () => {
  await folder.write('notes.txt', 'mine')
  const { code, stdout, stderr } = await create('.', '--yes')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^error: .* is not empty: it has notes\.txt\nGive another folder\./)
  expect(filesIn(folder.path)).toEqual(['notes.txt'])
})

test('a folder with a new git repository is empty', async () => {
  await mkdir(join(folder.path, '.git'))
  expect(await create('.', '--no-install')).toMatchObject({ code: 0, stderr: '' })
})

test.each([
  [['a', '--template', 'rails'], 'there is no template rails; there are worker, hono-drizzle, next, nest'],
  [['a', 'b'], 'one folder, not 2: a b'],
  [['--tempalte', 'worker'], "Unknown option '--tempalte'"],
])('%j is wrong usage', async (args, message) => {
  const { code, stderr } = await create(...args)
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`error: ${message}`) })
  expect(filesIn(folder.path)).toEqual([])
})

test('an installation that fails is reported, and the project is there', async () => {
  // Without npm.
  const env = { PATH: folder.path }
  const { code, stderr } = await runProgramFile(PROGRAM, ['a'], { cwd: folder.path, env })
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^error: npm install failed: .*The project is written/),
  ])
  expect(filesIn(join(folder.path, 'a'))).toContain('package.json')
})

test('on a terminal it asks for the folder and the template', async () => {
  const command = [process.execPath, PROGRAM, '--no-install']
  const isLinux = process.platform === 'linux'
  const args = isLinux ? ['-qec', command.join(' '), '/dev/null'] : ['-q', '/dev/null', ...command]
  const child = spawn('/usr/bin/script', args, { cwd: folder.path, env: { TERM: 'dumb' }, stdio: 'pipe' })
  const answers = new Map([
    ['Folder (my-jobs): ', 'shop'],
    ['Template (worker): ', 'hono-drizzle'],
  ])
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    for (const [question, answer] of answers) {
      if (!output.includes(question)) continue
      answers.delete(question)
      child.stdin.write(`${answer}\n`)
    }
  })
  expect(await once(child, 'close')).toEqual([0, null])
  expect(output).toContain('wrote the template hono-drizzle to shop')
  expect(filesIn(join(folder.path, 'shop'))).toContain('compose.yaml')
})

test.each(Object.keys(TEMPLATES))('the README of %s names scripts and files that it has', (template) => {
  const home = file(`../templates/${template}`)
  const { scripts } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const page = readFileSync(join(home, 'README.md'), 'utf8')
  const named = [...page.matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].map(([, name = '']) => name)
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter((name) => !(name in scripts))).toEqual([])
  const paths = [...page.matchAll(/`((?:src|test|drizzle)\/[\w./-]*)`/g)].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(3)
  expect(paths.filter((path) => !existsSync(join(home, path)))).toEqual([])
})

test.each(Object.keys(TEMPLATES))('%s imports only what it asks for, and files that it has', (template) => {
  const home = file(`../templates/${template}`)
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const asked = { ...dependencies, ...devDependencies }
  const sources = globSync('**/*.{ts,tsx}', { cwd: home })
  const imports = sources.flatMap((source) => {
    const text = readFileSync(join(home, source), 'utf8')
    const named = text.matchAll(/\b(?:from|import) ?\(?'([^', ]+)'/g)
    return [...named].map(([, name = '']) => ({ source, name }))
  })
  expect(imports.length).toBeGreaterThan(5)
  const isThere = ({ source, name }: { source: string; name: string }) => {
    if (name.startsWith('node:')) return true
    if (name.startsWith('.')) return existsSync(join(home, dirname(source), name.replace(/\.js$/, '.ts')))
    const [first = '', second = ''] = name.split('/')
    const asks = first.startsWith('@') ? `${first}/${second}` : first
    return asks in asked || `@types/${asks}` in asked
  }
  expect(imports.filter((each) => !isThere(each))).toEqual([])
})

test('the templates ask for the versions that the repository is tested with', () => {
  const catalog = readFileSync(file('../../../pnpm-workspace.yaml'), 'utf8')
  const known = Object.keys(TEMPLATES).flatMap((template) => {
    const manifest = JSON.parse(readFileSync(file(`../templates/${template}/package.json`), 'utf8'))
    return Object.entries<string>({ ...manifest.dependencies, ...manifest.devDependencies }).flatMap(
      ([name, asked]) => {
        const [, tested] = new RegExp(`^  "?${name}"?: [~^]?(.*)$`, 'm').exec(catalog) ?? []
        return tested === undefined
          ? []
          : [[`${template} ${name}`, asked.replace(/^[~^]/, ''), tested] as const]
      },
    )
  })
  expect(known.length).toBeGreaterThan(6)
  expect(known.filter(([, asked, tested]) => asked !== tested)).toEqual([])
})
