import { afterEach, describe, expect, it, vi } from 'vitest'
import * as format from './format.ts'
import { showTimesIn } from './time-zone.ts'

/** Thin spaces are hard to tell from others in a test. */
const plain = (text: string) => text.replaceAll('\u00a0', ' ')

describe('numbers', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1_000, '1,000'],
    [1_204_311, '1,204,311'],
    [9_007_199_254_740_991, '9,007,199,254,740,991'],
    [-12_500.5, '−12,500.5'],
  ])('%d keeps every digit: %s', (value, text) => expect(plain(format.number(value))).toBe(text))

  it.each([
    [0, '0'],
    [0.44, '0.4'],
    [12.46, '12.5'],
    [340.6, '341'],
    [12_340.6, '12,341'],
  ])('a rate of %d is %s', (value, text) => expect(plain(format.rate(value))).toBe(text))

  it('keeps the durations of a text in one line each, and leaves the rest', () => {
    expect(format.unbroken('media: 8 min of 24 jobs, 3 s and 1.5 h (limit 1 d)')).toBe(
      'media: 8\u00a0min of 24 jobs, 3\u00a0s and 1.5\u00a0h (limit 1\u00a0d)',
    )
  })

  it.each([
    [0, '0%'],
    [0.0004, '<0.1%'],
    [0.014, '1.4%'],
    [0.1379, '14%'],
    [0.149, '15%'],
    [0.997, '99%'],
    [0.9999, '>99.9%'],
    [1, '100%'],
  ])('a share of %d is %s', (share, text) => expect(plain(format.percent(share))).toBe(text))

  it.each([
    [{ retrying: 2_105, undoing: 0, retryingIsExact: true, failed: 40 }, '2,105 retrying · 40 gave up'],
    [{ retrying: 0, undoing: 1, retryingIsExact: true, failed: 0 }, '1 undoing'],
    [{ retrying: 10_000, undoing: 0, retryingIsExact: false, failed: 0 }, 'at least 10,000 retrying'],
    [{ retrying: 0, undoing: 0, retryingIsExact: true, failed: 1 }, '1 gave up'],
  ])('%j is %s', (group, text) => expect(format.failing(group)).toBe(text))

  it('counts with its noun', () => {
    expect(plain(format.count(1, 'job'))).toBe('1 job')
    expect(plain(format.count(4_210, 'job'))).toBe('4,210 jobs')
    expect(plain(format.count(0, 'retry', 'retries'))).toBe('0 retries')
  })
})

it('returns each number with its unit, to be set in two sizes', () => {
  const then = new Date('2026-11-16T03:00:00Z')
  expect(format.ageParts(then, then.getTime() + 438_000)).toEqual([
    { value: '7', unit: 'min' },
    { value: '18', unit: 's' },
  ])
})

describe('durations', () => {
  it.each([
    [0, '0 ms'],
    [340, '340 ms'],
    [1_240, '1.2 s'],
    [12_900, '12 s'],
    [60_000, '1 min'],
    [250_000, '4 min 10 s'],
    [3_840_000, '1 h 4 min'],
    [36 * 3_600_000, '36 h'],
    [219 * 3_600_000, '9 d 3 h'],
    [-5, '0 ms'],
  ])('%d ms is %s', (ms, text) => expect(plain(format.duration(ms))).toBe(text))

  const then = new Date('2026-11-16T03:00:00Z')
  const later = (ms: number) => then.getTime() + ms

  it.each([
    [400, '0 s'],
    [1_900, '1 s'],
    [250_400, '4 min 10 s'],
  ])('an age of %d ms ticks as %s', (ms, text) => expect(plain(format.age(then, later(ms)))).toBe(text))

  it.each([
    [-1_000, 'now'],
    [4_000, 'now'],
    [42_000, '42 s ago'],
    [250_000, '4 min ago'],
    [47 * 3_600_000, '47 h ago'],
    [72 * 3_600_000, '3 d ago'],
  ])('%d ms before now is %s', (ms, text) => expect(plain(format.ago(then, later(ms)))).toBe(text))

  it('formats a time in the future', () => {
    expect(plain(format.until(new Date(later(250_000)), later(0)))).toBe('in 4 min 10 s')
    expect(format.until(then, later(5_000))).toBe('now')
  })

  it.each([
    [400, 'in 1 s'],
    [40_400, 'in 40 s'],
    [3_462_000, 'in 58 min'],
    [3_590_000, 'in 1 h'],
  ])('%i ms ahead are rounded to one unit: %s', (ms, words) => {
    expect(plain(format.untilAbout(new Date(later(ms)), later(0)))).toBe(words)
  })
})

describe('moments', () => {
  it('name the day where it is another one, and the year likewise', () => {
    vi.stubEnv('TZ', 'Europe/Berlin')
    const now = Date.parse('2026-11-16T03:12:00Z')
    const at = (time: string) => new Date(`${time}Z`)
    expect(format.atTime(at('2026-11-16T03:11:54'), now)).toBe('at 04:11:54')
    // Midnight of this device, not of UTC.
    expect(plain(format.atTime(at('2026-11-15T22:59:59'), now))).toBe('on 15 Nov at 23:59:59')
    expect(format.atTime(at('2026-11-15T23:00:00'), now)).toBe('at 00:00:00')
    expect(plain(format.momentWithYear(at('2026-01-02T11:00:00'), now))).toBe('2 Jan, 12:00:00 UTC+1')
    expect(plain(format.momentWithYear(at('2025-12-31T22:59:59'), now))).toBe('31 Dec 2025, 23:59:59 UTC+1')
    expect(plain(format.momentWithYear(at('2025-12-31T23:00:00'), now))).toBe('1 Jan, 00:00:00 UTC+1')
  })

  const at = new Date('2026-11-06T02:02:05Z')
  afterEach(() => showTimesIn('local'))

  it.each([
    ['Europe/Berlin', '03:02 UTC+1', '6 Nov, 03:02:05 UTC+1'],
    ['America/St_Johns', '22:32 UTC−3:30', '5 Nov, 22:32:05 UTC−3:30'],
    ['Asia/Kolkata', '07:32 UTC+5:30', '6 Nov, 07:32:05 UTC+5:30'],
    ['UTC', '02:02 UTC', '6 Nov, 02:02:05 UTC'],
  ])('are of the zone of this device, and say which: %s', (zone, time, moment) => {
    vi.stubEnv('TZ', zone)
    expect(plain(format.timeOfDay(at))).toBe(time)
    expect(plain(format.moment(at))).toBe(moment)
  })

  it('follow summer time', () => {
    vi.stubEnv('TZ', 'Europe/Berlin')
    expect(plain(format.date(new Date('2026-07-06T02:02:05Z')))).toBe('6 Jul 2026, 04:02 UTC+2')
    expect(plain(format.date(at))).toBe('6 Nov 2026, 03:02 UTC+1')
  })

  it('are of UTC when that was chosen, whatever the device', () => {
    vi.stubEnv('TZ', 'America/St_Johns')
    showTimesIn('utc')
    expect(plain(format.timeOfDay(at))).toBe('02:02 UTC')
    expect(plain(format.moment(at))).toBe('6 Nov, 02:02:05 UTC')
    expect(plain(format.date(at))).toBe('6 Nov 2026, 02:02 UTC')
    expect(format.clockSeconds(at)).toBe('02:02:05')
  })

  it('name the day where it is not the present one', () => {
    vi.stubEnv('TZ', 'Europe/Berlin')
    expect(plain(format.timeOrDay(at, Date.parse('2026-11-06T12:00:00Z')))).toBe('03:02 UTC+1')
    expect(plain(format.timeOrDay(at, Date.parse('2026-11-05T12:00:00Z')))).toBe('Fri 6 Nov, 03:02 UTC+1')
  })

  it('know the day that the clock shows', () => {
    vi.stubEnv('TZ', 'America/St_Johns')
    const earlier = new Date('2026-11-05T12:00:00Z')
    expect(format.isSameDay(at, earlier)).toBe(true)
    showTimesIn('utc')
    expect(format.isSameDay(at, earlier)).toBe(false)
    expect(format.isSameDay(at, new Date('2025-11-06T02:02:05Z'))).toBe(false)
  })
})

it('joins a number and its unit by a space as wide as others, which does not break', () => {
  expect(format.count(143, 'job')).toBe('143\u00a0jobs')
  expect(format.duration(250_000)).toBe('4\u00a0min 10\u00a0s')
  expect(format.ago(new Date(0), 240_000)).toBe('4\u00a0min\u00a0ago')
  expect(format.day(new Date('2026-11-16T12:00:00Z'))).toBe('16\u00a0Nov')
})

it('shortens an id to what differs', () => {
  expect(format.shortId('019a8f00-0000-7000-8000-0000deadbeef')).toBe('…deadbeef')
  expect(format.shortId('short')).toBe('short')
})
