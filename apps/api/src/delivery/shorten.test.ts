import { expect, it } from 'vitest'
import { shorten } from './shorten.ts'

const FAMILY = '👨‍👩‍👧‍👦'
const FLAG = '🇨🇭'

it('a text that fits stays as it is', () => {
  expect(shorten('mail: late', 10)).toBe('mail: late')
  expect(shorten(FAMILY, FAMILY.length)).toBe(FAMILY)
})

it('a longer one ends with an ellipsis, within the limit', () => {
  expect(shorten('mail: late', 9)).toBe('mail: la…')
})

it.each([
  ['a family', FAMILY],
  ['a flag', FLAG],
  ['an accent', 'e\u0301'],
  ['a skin tone', '👍🏽'],
])('%s is kept or left out as a whole', (_, grapheme) => {
  const text = `${grapheme.repeat(20)}`
  for (let max = 1; max < text.length; max++) {
    const short = shorten(text, max)
    expect(short.length).toBeLessThanOrEqual(max)
    const whole = Math.floor((max - 1) / grapheme.length)
    expect(short).toBe(`${grapheme.repeat(whole)}…`)
  }
})
