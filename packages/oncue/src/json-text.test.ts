import { expect, test } from 'vitest'
import { addEntries } from './json-text.ts'

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
