import { describe, expect, it } from 'vitest'
import { limitInWords, readLimit, textOf } from './limit-form.ts'

const NONE = { maxRunning: '', count: '', seconds: '' }

describe('readLimit', () => {
  it('reads empty fields as no limit', () => {
    expect(readLimit(NONE)).toEqual({ ok: true, limit: null })
  })

  it.each([
    { typed: { ...NONE, maxRunning: '0' }, limit: { maxRunning: 0, rate: null } },
    {
      typed: { maxRunning: '10', count: '100', seconds: '0.5' },
      limit: { maxRunning: 10, rate: { count: 100, intervalMs: 500 } },
    },
  ])('reads $typed', ({ typed, limit }) => {
    expect(readLimit(typed)).toEqual({ ok: true, limit })
  })

  it('reads back what it has written', () => {
    const limit = { maxRunning: 3, rate: { count: 7, intervalMs: 1_500 } }
    expect(readLimit(textOf(limit))).toEqual({ ok: true, limit })
  })

  it.each([
    { typed: { ...NONE, maxRunning: '-1' }, field: 'maxRunning' },
    { typed: { ...NONE, maxRunning: 'ten' }, field: 'maxRunning' },
    { typed: { ...NONE, count: '5' }, field: 'seconds' },
    { typed: { ...NONE, seconds: '5' }, field: 'count' },
    { typed: { ...NONE, count: '0', seconds: '5' }, field: 'count' },
    { typed: { ...NONE, count: '5', seconds: '0' }, field: 'seconds' },
  ])('refuses $typed because of $field', ({ typed, field }) => {
    const checked = readLimit(typed)
    expect(checked.ok ? [] : Object.keys(checked.errors)).toEqual([field])
  })
})

it.each([
  { limit: null, words: 'no limit' },
  { limit: { maxRunning: 0 }, words: 'limited to 0' },
  {
    limit: { maxRunning: 10, rate: { count: 100, intervalMs: 60_000 } },
    words: 'at most 10 at once, at most 100\u00a0starts per 1\u00a0min',
  },
])('$words', ({ limit, words }) => {
  expect(limitInWords(limit)).toBe(words)
})
