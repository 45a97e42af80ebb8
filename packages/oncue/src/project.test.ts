import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseManifest, readProject } from './project.ts'

function given(files: Record<string, object | string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'oncue-project-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return folder
}

test.each([
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['package-lock.json', 'npm'],
])('%s is the lock file of %s', (file, packageManager) => {
  expect(readProject(given({ 'package.json': {}, [file]: '' }))).toMatchObject({ packageManager })
})

test('package.json names the package manager before a lock file does, and that of a workspace counts', () => {
  const folder = given({
    'package.json': { packageManager: 'yarn@4.9.0' },
    'pnpm-lock.yaml': '',
    'apps/a/package.json': {},
  })
  expect(readProject(folder).packageManager).toBe('yarn')
  expect(readProject(join(folder, 'apps/a')).packageManager).toBe('pnpm')
})

test.each([
  [['@prisma/client', 'pg'], '@prisma/client'],
  [['drizzle-orm', 'pg'], 'drizzle-orm'],
  [['pg', 'kysely'], 'kysely'],
  [['pg'], 'pg'],
  [['better-sqlite3'], 'better-sqlite3'],
  [['mongodb'], null],
])('of %j, transactions are opened by %s', (names, database) => {
  const dependencies = Object.fromEntries(names.map((name) => [name, '*']))
  expect(readProject(given({ 'package.json': { dependencies } }))).toMatchObject({ database })
})

test.each([
  ['next', 'Next.js'],
  ['@nestjs/core', 'NestJS'],
  ['hono', 'Hono'],
  ['fastify', 'Fastify'],
  ['express', 'Express'],
  ['react', null],
])('%s is the framework %s', (name, framework) => {
  expect(readProject(given({ 'package.json': { devDependencies: { [name]: '*' } } }))).toMatchObject({
    framework,
  })
})

test('TypeScript and the kind of modules are read', () => {
  const folder = given({ 'package.json': { type: 'module' }, 'tsconfig.json': '{ // comments\n}' })
  expect(readProject(folder)).toMatchObject({ type: 'module', tsconfig: join(folder, 'tsconfig.json') })
  expect(readProject(given({ 'package.json': {} }))).toMatchObject({ type: null, tsconfig: null })
})

test.each([['null'], ['[]'], ['[{}]'], ['"a"'], ['{ "scripts": null }'], ['{ "dependencies": [] }']])(
  'a package.json of %s is refused',
  (text) => expect(() => parseManifest('package.json', text)).toThrow(/not an object/),
)
