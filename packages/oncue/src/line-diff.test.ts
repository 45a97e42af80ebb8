import { expect, test } from 'vitest'
import { diffLines } from './line-diff.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, n) => `${n}\n`).join('')

test('shows what changed, with a few lines around it', () => {
  expect(diffLines(numbers(12), numbers(12).replace('6\n', 'six\n'))).toEqual([
    ...['  …', '  3', '  4', '  5', '- 6', '+ six', '  7', '  8', '  9', '  …'],
  ])
})

test.each([
  ['', 'a\nb\n', ['+ a', '+ b']],
  ['a\nb\n', '', ['- a', '- b']],
  ['a\nc\n', 'a\nb\nc\n', ['  a', '+ b', '  c']],
  ['a\n', 'a\n', ['  …']],
])('from %j to %j', (before, after, lines) => expect(diffLines(before, after)).toEqual(lines))
