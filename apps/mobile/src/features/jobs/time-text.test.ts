import { afterEach, expect, it } from 'vitest'
import { showTimesIn } from '../../lib/time-zone.ts'
import { readTime, writeTime } from './time-text.ts'

afterEach(() => showTimesIn('local'))

it.each(['2026-11-18 03:12', '2026-11-18 03:12:05'])('reads what it writes: %s', (text) => {
  expect(writeTime(readTime(text) ?? undefined)).toBe(text)
})

it('reads and writes UTC where times are shown in UTC', () => {
  showTimesIn('utc')
  expect(readTime('2026-11-18 03:12')).toEqual(new Date('2026-11-18T03:12:00Z'))
  expect(writeTime(new Date('2026-11-18T03:12:05Z'))).toBe('2026-11-18 03:12:05')
})

it('takes a day as its beginning, and nothing as no bound', () => {
  expect(readTime('2026-11-18')).toEqual(new Date(2026, 10, 18))
  expect(readTime(' ')).toBeUndefined()
})

it.each(['yesterday', '2026-02-31 10:00', '2026-11-18 25:00', '18.11.2026'])('refuses %s', (text) => {
  expect(readTime(text)).toBeNull()
})
