import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { defaultService } from '../src/service.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncue-service-'))
})
afterEach(() => rm(folder, { recursive: true }))

test('a service has the name of the nearest package that has one', async () => {
  const inner = join(folder, 'dist/server')
  await mkdir(inner, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"name":"@acme/billing"}')
  expect(defaultService(inner)).toBe('@acme/billing')
  await writeFile(join(folder, 'dist/package.json'), '{"type":"module"}')
  expect(defaultService(inner)).toBe('@acme/billing')
  await writeFile(join(folder, 'dist/package.json'), '{"name":"reports"}')
  expect(defaultService(inner)).toBe('reports')
  await writeFile(join(inner, 'package.json'), 'not json')
  expect(defaultService(inner)).toBe('reports')
})

test('a service without a package has the name default', () => {
  expect(defaultService(folder)).toBe('default')
})

test('ONCUE_SERVICE names it, and a wrong name is refused', () => {
  expect(readConfig({}).service).toBeUndefined()
  expect(readConfig({ ONCUE_SERVICE: '@acme/billing' }).service).toBe('@acme/billing')
  expect(() => readConfig({ ONCUE_SERVICE: 'two words' })).toThrow(
    'ONCUE_SERVICE=two words must be 1 to 128 letters, digits and _ . - / @',
  )
})
