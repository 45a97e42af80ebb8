import { describe, expect, it } from 'vitest'
import { assertText, cleanText, quote, truncateUtf8, utf8Length } from './text.ts'

const samples = ['', 'plain', 'naïve', '\u07ff\u0800', '任务', '🐘', 'a🐘é任', '\0']

describe('utf8Length', () => {
  it.each(samples)('of %j is what an encoder writes', (text) => {
    expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
  })
})

describe('truncateUtf8', () => {
  it.each(samples)('of %j never exceeds the bytes and never cuts a character', (text) => {
    for (let bytes = 0; bytes <= 12; bytes++) {
      const cut = truncateUtf8(text, bytes)
      expect(utf8Length(cut)).toBeLessThanOrEqual(bytes)
      expect(text.startsWith(cut)).toBe(true)
      expect(cleanText(cut).replaceAll('\ufffd', '\0')).toBe(cut)
      if (utf8Length(text) <= bytes) expect(cut).toBe(text)
    }
  })
})

describe('assertText', () => {
  it('accepts any text that UTF-8 and Postgres can hold', () => {
    for (const text of samples.filter((sample) => sample !== '\0')) assertText(text, 'key')
  })

  it('names the field, the fault and the position', () => {
    expect(() => assertText('ab\0', 'options.uniqueKey')).toThrow(
      'options.uniqueKey contains a NUL character at position 2',
    )
    expect(() => assertText('🐘\ud800', 'key')).toThrow('key contains a lone surrogate at position 2')
  })
})

describe('cleanText', () => {
  it('replaces what cannot be stored and nothing else', () => {
    expect(cleanText('a\0b\ud800c\udc00🐘')).toBe('a\ufffdb\ufffdc\ufffd🐘')
  })
})

describe('quote', () => {
  it.each<[unknown, string]>([
    ['a\nb', '"a\\nb"'],
    ['x'.repeat(100), `"${'x'.repeat(60)}…"`],
    [1.5, '1.5'],
    [null, 'null'],
    [[1], 'an array'],
    [{ a: 1 }, 'an object'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [new Date(Number.NaN), 'an invalid Date'],
  ])('shows %j as %s', (value, shown) => {
    expect(quote(value)).toBe(shown)
  })
})
