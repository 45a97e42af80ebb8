import { expect, it } from 'vitest'
import { z } from 'zod'
import { parsePayload, parseResult } from './validate.ts'

const schema = z.object({ items: z.array(z.object({ id: z.coerce.number() })) })

it('parsePayload returns the output type of the schema for the handler', () => {
  expect(parsePayload(schema, { items: [{ id: '7' }] }, 'x')).toEqual({ items: [{ id: 7 }] })
})

it('parsePayload reports where a payload does not fit, and of which topic', () => {
  const parse = () => parsePayload(schema, { items: [{ id: 1 }, 5] }, 'x')
  expect(parse).toThrow(expect.objectContaining({ code: 'INVALID_PAYLOAD' }))
  expect(parse).toThrow('payload.items[1]: Invalid input: expected object, received number (schema of x)')
})

it('parseResult has a code of its own', () => {
  expect(() => parseResult(z.number(), 'three', 'x')).toThrow(
    expect.objectContaining({ code: 'INVALID_RESULT' }),
  )
})

it('an error thrown by the schema itself is passed on', () => {
  const broken = z.string().transform(() => {
    throw new RangeError('bug in the schema')
  })
  expect(() => parsePayload(broken, 'a', 'x')).toThrow(RangeError)
})

it.each<[string, z.ZodType, unknown]>([
  ['z.void()', z.void(), undefined],
  ['z.undefined()', z.undefined(), undefined],
  ['.optional()', z.object({ a: z.string() }).optional(), undefined],
  ['.default(…)', z.number().default(5), 5],
  ['.nullable()', z.number().nullable(), null],
  ['.nullish()', z.number().nullish(), null],
  ['nothing said', z.unknown(), null],
])('null becomes undefined where a schema does not accept null: %s', (_, taking, expected) => {
  expect(parsePayload(taking, null, 'x')).toBe(expected)
  expect(parseResult(taking, null, 'x')).toBe(expected)
})

it('the error says null where a schema accepts neither', () => {
  expect(() => parsePayload(z.string(), null, 'x')).toThrow('expected string, received null')
})
