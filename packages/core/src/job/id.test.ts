import { describe, expect, it } from 'vitest'
import { systemClock } from './clock.ts'
import { createJobIds, isJobId, jobIdSchema, newJobId } from './id.ts'

const timeOf = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

function expectAscending(ids: readonly string[]) {
  // One assertion for all: a hundred thousand assertions would take longer than making the ids.
  expect(ids.findIndex((id, i) => i > 0 && id <= (ids[i - 1] as string))).toBe(-1)
}

/** A new sequence for each test: a date in the far future must not affect the next test. */
const freshGenerator = () => createJobIds(systemClock)

describe('newJobId', () => {
  it('makes UUIDs of version 7 that carry the time', () => {
    const make = freshGenerator()
    const now = Date.UTC(2026, 0, 8, 12)
    const id = make(now)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(timeOf(id)).toBe(now)
  })

  it('ascends strictly within one millisecond', () => {
    const make = freshGenerator()
    expectAscending(Array.from({ length: 100_000 }, () => make(1_767_873_600_000)))
  })

  it('ascends strictly whatever the clock does', () => {
    const make = freshGenerator()
    let clock = 1_767_873_600_000
    const ids = Array.from({ length: 100_000 }, (_, i) => {
      clock += [0, 1, 0, 17, -3, 0.4, -60_000, 60_000][i % 8] as number
      return make(clock)
    })
    expectAscending(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('survives a clock that is not a number, negative or out of range', () => {
    const make = freshGenerator()
    const ids = [1_000, Number.NaN, -5, Number.POSITIVE_INFINITY, 2 ** 60, 1_001].map((now) => make(now))
    expectAscending(ids)
    expect(ids.every(isJobId)).toBe(true)
    expect(timeOf(ids.at(-1) as string)).toBe(1_001)
  })

  it('carries into the time when the counter is used up', () => {
    // All bits set: the counter starts at its last value.
    const make = createJobIds({ ...systemClock, bytes: (count) => new Uint8Array(count).fill(255) })
    const ids = Array.from({ length: 3 }, () => make(1_000))
    expectAscending(ids)
    expect(ids.map(timeOf)).toEqual([1_000, 1_001, 1_002])
  })

  it('differs between processes that start in the same millisecond', () => {
    const ids = [freshGenerator()(1_000), freshGenerator()(1_000)]
    expect(ids[0]).not.toBe(ids[1])
  })

  it('makes the same ids from the same time and the same bytes', () => {
    const make = () => {
      let ms = 1_000
      const newId = createJobIds({
        now: () => ms++,
        bytes: (count) => new Uint8Array(count).map((_, n) => n),
      })
      return Array.from({ length: 1_000 }, () => newId())
    }
    expect(make()).toEqual(make())
    expectAscending(make())
    expect(make().map(timeOf).at(-1)).toBe(1_999)
  })
})

describe('isJobId', () => {
  it.each<[unknown, boolean]>([
    [newJobId(), true],
    [newJobId().toUpperCase(), false],
    ['019ba2c4-5e00-4000-8000-000000000000', false],
    ['', false],
    [`${newJobId()}\n`, false],
    [7, false],
  ])('of %j is %s', (value, expected) => {
    expect(isJobId(value)).toBe(expected)
    expect(jobIdSchema.safeParse(value).success).toBe(expected)
  })
})
