import { afterEach, describe, expect, it, vi } from 'vitest'
import { showTimesIn } from '../../lib/time-zone.ts'
import { timeTicks, type Unit, valueTicks } from './chart-axis.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const labels = (ticks: readonly { readonly label: string }[]) =>
  ticks.map(({ label }) => label.replaceAll('\u00a0', ' '))

describe('the axis of values', () => {
  it.each<[string, Unit, number, string[]]>([
    ['nothing', 'count', 0, ['0', '1', '2', '3']],
    ['few', 'count', 2, ['0', '1', '2', '3']],
    ['counts', 'count', 7, ['0', '2', '4', '6', '8']],
    ['large counts', 'count', 12_400, ['0', '5,000', '10,000', '15,000']],
    ['rates', 'rate', 0.9, ['0', '0.2', '0.4', '0.6', '0.8', '1']],
    ['shares', 'share', 0.14, ['0', '5%', '10%', '15%']],
    ['all of them', 'share', 1, ['0', '20%', '40%', '60%', '80%', '100%']],
    ['milliseconds', 'duration', 42, ['0', '10 ms', '20 ms', '30 ms', '40 ms', '50 ms']],
    ['tenths of seconds', 'duration', 1_400, ['0', '0.5 s', '1 s', '1.5 s']],
    ['seconds', 'duration', 100 * SECOND, ['0', '30 s', '60 s', '90 s', '120 s']],
    ['minutes', 'duration', 42 * MINUTE, ['0', '10 min', '20 min', '30 min', '40 min', '50 min']],
    ['a quarter of an hour', 'duration', 1_000 * SECOND, ['0', '5 min', '10 min', '15 min', '20 min']],
    ['hours', 'duration', 11 * HOUR, ['0', '3 h', '6 h', '9 h', '12 h']],
    ['days', 'duration', 90 * HOUR, ['0', '1 d', '2 d', '3 d', '4 d']],
  ])('counts %s in steps that people count in', (_, unit, highest, expected) => {
    expect(labels(valueTicks(highest, unit))).toEqual(expected)
  })

  it('has four to six ticks, whatever the values, and reaches the highest', () => {
    for (const unit of ['count', 'rate', 'share', 'duration'] as const)
      for (let highest = 0.001; highest < 10 ** 10; highest *= 1.37) {
        const ticks = valueTicks(highest, unit)
        expect(ticks.length).toBeGreaterThanOrEqual(4)
        expect(ticks.length).toBeLessThanOrEqual(6)
        expect(ticks.at(-1)?.value).toBeGreaterThanOrEqual(highest)
      }
  })

  it('has fewer where text is large', () => {
    expect(labels(valueTicks(42 * MINUTE, 'duration', 2))).toEqual(['0', '30 min', '60 min'])
  })
})

describe('the axis of time', () => {
  vi.stubEnv('TZ', 'Asia/Kolkata')
  afterEach(() => showTimesIn('local'))
  const at = (time: string) => new Date(`2026-11-16T${time}Z`)

  it('has ticks where the clock on the wall shows a full step', () => {
    expect(labels(timeTicks(at('03:12:00'), at('04:12:00')))).toEqual(['08:45', '09:00', '09:15', '09:30'])
    showTimesIn('utc')
    expect(labels(timeTicks(at('03:12:00'), at('04:12:00')))).toEqual(['03:15', '03:30', '03:45', '04:00'])
  })

  it('has the day at midnight, of a day', () => {
    showTimesIn('utc')
    const from = new Date('2026-11-15T03:10:00Z')
    expect(labels(timeTicks(from, at('03:10:00')))).toEqual(['06:00', '12:00', '18:00', '16 Nov'])
  })

  it.each([60, 720, 1_440])('has four to six ticks of %d minutes, whenever they begin', (minutes) => {
    for (let shift = 0; shift < 60; shift += 1) {
      const from = new Date(at('03:00:00').getTime() + shift * MINUTE)
      const ticks = timeTicks(from, new Date(from.getTime() + minutes * MINUTE))
      expect(ticks.length).toBeGreaterThanOrEqual(4)
      expect(ticks.length).toBeLessThanOrEqual(6)
    }
  })
})
