import { describe, expect, it } from 'vitest'
import { chipOf, filterOf, paramsOf, statusesOf, toggleStatus } from './filter.ts'

const AT = new Date('2026-11-16T03:12:00.000Z')

describe('the filter in the address', () => {
  it('survives being written and read', () => {
    const filter = { status: 'failed', queue: 'a/b.c', createdFrom: AT, payloadText: 'u_1 & co' } as const
    expect(filterOf(paramsOf(filter))).toEqual(filter)
  })

  it('has several statuses at once, in one order, and forgets those that are none', () => {
    const filter = { status: ['failed', 'cancelled'] } as const
    expect(paramsOf({ status: [...filter.status] })).toEqual({ status: 'failed,cancelled' })
    expect(filterOf({ status: 'cancelled,sleeping,failed' })).toEqual(filter)
    expect(toggleStatus({ status: 'failed' }, 'cancelled')).toEqual(['failed', 'cancelled'])
    expect(toggleStatus({ status: ['failed', 'cancelled'] }, 'failed')).toBe('cancelled')
    expect(toggleStatus({ status: 'failed' }, 'failed')).toBeUndefined()
  })

  it('has pending for three states, and any of them alone', () => {
    expect(filterOf({ status: 'retrying' })).toEqual({ status: 'retrying' })
    expect(statusesOf(filterOf({ status: 'pending' }))).toEqual(['retrying', 'waiting', 'scheduled'])
    expect(toggleStatus({ status: 'pending' }, 'retrying')).toEqual(['waiting', 'scheduled'])
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

it.each([
  { name: 'queue', filter: { queue: 'mail' }, chip: 'Queue: mail' },
  { name: 'idPrefix', filter: { idPrefix: '0192' }, chip: 'Id: 0192…' },
  { name: 'idSuffix', filter: { idSuffix: '1a2b3c4d' }, chip: 'Id: …1a2b3c4d' },
  { name: 'errorText', filter: { errorText: 'timeout' }, chip: 'Error: “timeout”' },
  { name: 'topic', filter: {}, chip: null },
] as const)('$name is said as $chip', ({ name, filter, chip }) => {
  expect(chipOf(name, filter)).toBe(chip)
})
