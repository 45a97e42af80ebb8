import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { chooseDatabase, dialectOf, sqliteFile, withoutPassword } from './url.ts'

test('the dialect is derived from the URL', () => {
  expect(dialectOf('postgres://db/app')).toBe('postgres')
  expect(dialectOf('postgresql://db/app')).toBe('postgres')
  expect(dialectOf('file:./oncue.db')).toBe('sqlite')
})

test('a URL of any other kind is refused, and its password not repeated', () => {
  expect(() => dialectOf('mysql://app:secret@db/app')).toThrow(
    expect.objectContaining({ code: 'INVALID_DATABASE_URL', message: expect.not.stringContaining('secret') }),
  )
})

test.each([
  ['file:./oncue.db', '/srv/oncue.db'],
  ['file:data/oncue.db', '/srv/data/oncue.db'],
  ['file:/data/oncue.db', '/data/oncue.db'],
  ['file:///data/oncue.db', '/data/oncue.db'],
  ['file:./oncue.db?connection_limit=1', '/srv/oncue.db'],
])('%s in /srv is the file %s', (url, file) => {
  expect(sqliteFile(url, '/srv')).toBe(file)
})

test.each([
  ['postgres://app:secret@db/app', 'postgres://app:…@db/app'],
  ['postgres://app:p@ss@db/app', 'postgres://app:…@db/app'],
  ['postgres://app@db/app', 'postgres://app@db/app'],
  ['postgres://:secret@db/app', 'postgres://:…@db/app'],
  [
    'postgres://db/app?user=app&password=secret&sslmode=require',
    'postgres://db/app?user=app&password=…&sslmode=require',
  ],
  ['postgres://db/app?PASSWORD=secret', 'postgres://db/app?PASSWORD=…'],
  ['app:secret@db/app', 'app:…@db/app'],
  ['"postgres://app:secret@db/app"', '"postgres://app:…@db/app"'],
  ['file:./oncue.db', 'file:./oncue.db'],
  ['file:/srv/a:b@c/oncue.db', 'file:/srv/a:b@c/oncue.db'],
])('%s is shown as %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})

describe('which database a command uses', () => {
  const configured = 'postgres://app:secret@db/app'

  test('the --url option, else DATABASE_URL, shown without the password', () => {
    expect(chooseDatabase({ configured, nodeEnv: undefined })).toEqual({
      url: configured,
      schema: 'oncue',
      shown: 'postgres://app:…@db/app',
    })
    expect(
      chooseDatabase({ typed: 'file:./mine.db', configured, nodeEnv: 'production', callerFolder: '/srv' }),
    ).toEqual({ url: 'file:/srv/mine.db', schema: 'oncue', shown: 'file:/srv/mine.db' })
  })

  test('without either, a file below .data, shown as the default', () => {
    expect(chooseDatabase({ configured: undefined, nodeEnv: 'development' })).toEqual({
      url: 'file:./.data/oncue.db',
      schema: 'oncue',
      shown: `file:${resolve('.data/oncue.db')} (DATABASE_URL is not set)`,
    })
  })

  test('another schema is checked and shown', () => {
    expect(chooseDatabase({ configured, nodeEnv: undefined, schema: 'billing' })).toEqual({
      url: configured,
      schema: 'billing',
      shown: 'postgres://app:…@db/app, schema billing',
    })
    expect(() => chooseDatabase({ configured, nodeEnv: undefined, schema: 'Billing' })).toThrow(
      expect.objectContaining({ code: 'INVALID_SCHEMA' }),
    )
  })

  test('without either in production, none', () => {
    expect(() => chooseDatabase({ configured: undefined, nodeEnv: 'production' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_DATABASE_URL',
        message: 'DATABASE_URL is not set, and NODE_ENV is production',
      }),
    )
  })
})
