import { expect, test } from 'vitest'
import { addEntries, blankComments, rangeOf } from './json-text.ts'

/** The same at each run. */
function createRandom(): <Value>(from: readonly Value[]) => Value {
  let state = 7
  return (from) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return from[Math.floor((state / 2 ** 31) * from.length)] as (typeof from)[number]
  }
}

test('of random texts only what is added changes, also with keys given twice, escapes and any white space', () => {
  const pick = createRandom()
  const space = () => pick(['', '', ' ', '\n', '\r\n  ', '\t'])
  const text = () => JSON.stringify(pick(['', 'a', '{', '}', '"', '\\', '\\"', '": {', '[', '//', 'é\n']))
  const listOf = (each: () => string) => {
    const items = pick([[], [1], [1, 2], [1, 2, 3]]).map(() => space() + each() + space())
    return items.join(',') || space()
  }
  const value = (depth: number): string =>
    depth > 3
      ? text()
      : pick([text, () => 'null', () => `[${listOf(() => value(depth + 1))}]`, () => object(depth)])()
  const entry = (depth: number) => {
    const key = pick(['scripts', 'dependencies', 'b"c', 'x{', ''])
    const written = pick([JSON.stringify(key), JSON.stringify(key).replace('s', '\\u0073')])
    return `${written}${space()}:${space()}${key === 'scripts' && depth === 1 ? object(depth + 1) : value(depth + 1)}`
  }
  const object = (depth: number): string => `{${listOf(() => entry(depth))}}`
  for (let round = 0; round < 2_000; round++) {
    const before = object(1)
    const known = JSON.parse(before)
    const after = addEntries(before, 'scripts', added)
    expect(JSON.parse(after), before).toEqual({ ...known, scripts: { ...known.scripts, ...added } })
  }
})

test('lines end as they do in the text', () => {
  const after = addEntries('{\r\n  "scripts": {\r\n    "a": "b"\r\n  }\r\n}\r\n', 'scripts', added)
  expect(after.replaceAll('\r\n', '')).not.toContain('\n')
  expect(after.split('\r\n')).toHaveLength(8)
})

test('comments are blank, and texts that look like comments are not', () => {
  const text = '{ // "a": {\n  /* "b": {\n */ "c": "// no */ comment", "d": {} }'
  const blank = blankComments(text)
  expect(blank).toHaveLength(text.length)
  expect(JSON.parse(blank)).toEqual({ c: '// no */ comment', d: {} })
  expect(rangeOf(blank, 'd')).toEqual({ start: text.indexOf('{}'), end: text.indexOf('{}') + 1 })
})

const added = { dev: 'oncue dev', check: 'oncue check' }

test.each([
  [
    'one line',
    '{"name":"a","scripts":{"test":"vitest"}}',
    '{"name":"a","scripts":{"test":"vitest", "dev": "oncue dev", "check": "oncue check"}}',
  ],
  [
    'one line without it',
    '{"name":"a"}',
    '{"name":"a", "scripts": {"dev": "oncue dev", "check": "oncue check"}}',
  ],
  [
    'short lists on one line',
    '{\n  "files": ["a", "b"],\n  "scripts": {\n    "test": "vitest"\n  }\n}\n',
    '{\n  "files": ["a", "b"],\n  "scripts": {\n    "test": "vitest",\n    "dev": "oncue dev",\n    "check": "oncue check"\n  }\n}\n',
  ],
  [
    'an object on one line',
    '{\n  "scripts": { "test": "vitest" }\n}\n',
    '{\n  "scripts": { "test": "vitest", "dev": "oncue dev", "check": "oncue check" }\n}\n',
  ],
  [
    'nothing of it',
    '{\n\t"name": "a"\n}\n',
    '{\n\t"name": "a",\n\t"scripts": {\n\t\t"dev": "oncue dev",\n\t\t"check": "oncue check"\n\t}\n}\n',
  ],
  [
    'the same key deeper',
    '{\n  "nested": { "scripts": { "a": "b" } },\n  "scripts": {}\n}',
    '{\n  "nested": { "scripts": { "a": "b" } },\n  "scripts": {\n    "dev": "oncue dev",\n    "check": "oncue check"\n  }\n}',
  ],
])('a package.json with %s keeps its form', (_, before, after) => {
  expect(addEntries(before, 'scripts', added)).toBe(after)
  JSON.parse(after)
})
