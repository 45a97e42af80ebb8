import { expect, it } from 'vitest'
import { numberSize } from './number-size.ts'

const sizes = [48, 40, 32, 26, 20]

it.each([
  ['88%', '', 141, 48],
  ['12,348', '', 141, 32],
  ['1,204,311', '', 141, 20],
  ['1,204,311', '', 326, 48],
  ['80.8', '/min', 141, 32],
  ['999,999,999', '', 40, 20],
])('%s%s in %d px: %d', (value, unit, width, size) => {
  expect(numberSize([{ value, unit }], { width, sizes })).toBe(size)
})

it('one size fits all pairs of number and unit together', () => {
  const parts = [
    { value: '7', unit: 'min' },
    { value: '18', unit: 's' },
  ]
  expect(numberSize(parts, { width: 326, sizes })).toBe(48)
  expect(numberSize(parts, { width: 141, sizes })).toBe(32)
})
