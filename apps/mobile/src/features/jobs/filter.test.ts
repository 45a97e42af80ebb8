import { describe, expect, it } from 'vitest'
import { chipOf, filterOf, looksLikeId, paramsOf, withText } from './filter.ts'

const AT = new Date('2026-11-16T03:12:00.000Z')

describe('the filter in the address', () => {
  it('survives being written and read', () => {
    const filter = { status: 'failed', queue: 'a/b.c', createdFrom: AT, payloadText: 'u_1 & co' } as const
    expect(filterOf(paramsOf(filter))).toEqual(filter)
  })

  it.each([
    [{ status: 'sleeping' }],
    [{ createdFrom: 'yesterday' }],
    [{ queue: '' }],
    [{ queue: ['a', 'b'] }],
    [{ jobId: '0192' }],
  ])('leaves out %o', (params) => {
    expect(filterOf(params)).toEqual({})
  })
})

describe('a text in the payload', () => {
  it('is looked for within a day', () => {
    const { createdFrom, payloadText } = withText('u_1', {}, AT.getTime())
    expect([createdFrom?.toISOString(), payloadText]).toEqual(['2026-11-15T03:12:00.000Z', 'u_1'])
  })

  it('is looked for since when one had chosen', () => {
    expect(withText('u_1', { createdFrom: AT }, AT.getTime() + 1)).toEqual({
      createdFrom: AT,
      payloadText: 'u_1',
    })
  })
})

it.each([
  { text: '0192f3a4', isId: true },
  { text: '0192f3a4-7c1b', isId: true },
  { text: 'cafe', isId: false },
  { text: 'u_00192f3', isId: false },
])('$text is the beginning of an id: $isId', ({ text, isId }) => {
  expect(looksLikeId(text)).toBe(isId)
})

it.each([
  { name: 'queue', filter: { queue: 'mail' }, chip: 'Queue: mail' },
  { name: 'idPrefix', filter: { idPrefix: '0192' }, chip: 'Id: 0192…' },
  { name: 'topic', filter: {}, chip: null },
] as const)('$name is said as $chip', ({ name, filter, chip }) => {
  expect(chipOf(name, filter)).toBe(chip)
})
