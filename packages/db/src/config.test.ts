import { describe, expect, test } from 'vitest'
import { readConfig } from './config.ts'

test('an empty DATABASE_URL counts as unset', () => {
  expect(readConfig({}).databaseUrl).toBeUndefined()
  expect(readConfig({ DATABASE_URL: '' }).databaseUrl).toBeUndefined()
  expect(readConfig({ DATABASE_URL: 'postgres://db/app' }).databaseUrl).toBe('postgres://db/app')
})

test('a flag is off when it is absent, empty, 0 or false', () => {
  for (const value of [undefined, '', '0', 'false']) {
    expect(readConfig({ ...(value !== undefined && { ONCUE_KEEP: value }) }).keepDatabases).toBe(false)
  }
  expect(readConfig({ ONCUE_KEEP: '1' }).keepDatabases).toBe(true)
})

describe("the caller's folder", () => {
  test('is where a package manager was called, in a script that it runs', () => {
    const env = { INIT_CWD: '/repo/apps/api', npm_package_json: '/repo/package.json' }
    expect(readConfig(env, '/repo').callerFolder).toBe('/repo/apps/api')
  })

  test('is the current folder in a process that such a script started elsewhere', () => {
    const env = { INIT_CWD: '/repo/apps/api', npm_package_json: '/repo/package.json' }
    expect(readConfig(env, '/tmp/elsewhere').callerFolder).toBe('/tmp/elsewhere')
  })

  test('is the current folder without a package manager', () => {
    expect(readConfig({}, '/repo').callerFolder).toBe('/repo')
  })
})
