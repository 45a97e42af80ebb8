import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Facts, greeting } from './greeting.ts'
import { ROOT } from './root.ts'

const FACTS: Facts = {
  url: 'http://127.0.0.1:4400',
  databaseUrl: 'file:./.data/oncue.db',
  appDir: '/nowhere',
  logFile: resolve('.data/start.log'),
  newToken: null,
  givenToken: undefined,
  isBrief: false,
}

test('the guide shows the greeting of the first start, word for word', async () => {
  const appDir = await mkdtemp(join(tmpdir(), 'oncue-app-'))
  onTestFinished(() => rm(appDir, { recursive: true }))
  await writeFile(join(appDir, 'index.html'), '')
  const guide = await readFile(join(ROOT, 'docs/guides/getting-started.md'), 'utf8')
  expect(guide).toContain(`\`\`\`text${greeting({ ...FACTS, appDir, newToken: 'oncue_…' })}\`\`\``)
})

test('it says only what applies', () => {
  expect(greeting(FACTS)).not.toContain('  app ')
  expect(greeting(FACTS)).toContain('--new-token')
  expect(greeting({ ...FACTS, givenToken: 'oncue_secret' })).not.toMatch(/--new-token|oncue_secret/)
  expect(greeting({ ...FACTS, isBrief: true })).not.toContain('curl')
})

test.each([
  ['postgres://shop:secret@db.internal/shop', 'postgres://shop:…@db.internal/shop'],
  [':memory:', 'a temporary file, deleted on exit'],
  ['file:/srv/oncue.db', '/srv/oncue.db'],
])('%s is shown as %s', (databaseUrl, shown) => {
  const text = greeting({ ...FACTS, databaseUrl, logFile: null })
  expect(text).toContain(`  database  ${shown}\n`)
  expect(text).not.toContain('secret')
  expect(text.includes('On Postgres')).toBe(!databaseUrl.startsWith('postgres'))
})
