import { expect, test } from 'vitest'
import { dialectOf, sqliteFile, withoutPassword } from './url.ts'

test('a URL tells its dialect', () => {
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
  ['file:./oncue.db', 'file:./oncue.db'],
])('%s is shown as %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})
