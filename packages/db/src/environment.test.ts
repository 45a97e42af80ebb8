import { expect, test } from 'vitest'
import { z } from 'zod'
import { list, parseWhole, readEnvironment, text, whole } from './environment.ts'

const schema = z.object({ NAME: text, NAMES: list, PORT: whole(0, 65_535) })
const UNSET = { NAME: undefined, NAMES: undefined, PORT: undefined }

test('an empty variable counts as unset', () => {
  expect(readEnvironment(schema, {})).toEqual(UNSET)
  expect(readEnvironment(schema, { NAME: '', NAMES: '', PORT: '' })).toEqual(UNSET)
})

test('lists are separated by commas, with any spacing', () => {
  expect(readEnvironment(schema, { NAMES: ' a, b,,' }).NAMES).toEqual(['a', 'b'])
})

test.each([
  ['0', 0],
  ['65535', 65_535],
  ['65536', null],
  ['-1', null],
  ['1.5', null],
  ['ten', null],
  [' ', null],
])('%j is the whole number %s', (value, number) => {
  expect(parseWhole(value, 0, 65_535)).toBe(number)
})

test('an error names the variable, its value and what it must be', () => {
  expect(() => readEnvironment(schema, { PORT: 'eighty' })).toThrow(
    expect.objectContaining({
      code: 'INVALID_INPUT',
      message: 'PORT=eighty must be a whole number from 0 to 65535',
    }),
  )
})
