import { describe, expect, it } from 'vitest'
import { cronInWords } from './cron-words.ts'

describe('a schedule in words', () => {
  it.each([
    ['* * * * *', 'every minute'],
    ['*/5 * * * *', 'every 5 minutes'],
    ['0 * * * *', 'every hour'],
    ['15 * * * *', 'every hour, 15 min past'],
    ['0 */6 * * *', 'every 6 hours'],
    ['*/10 * * * * *', 'every 10 seconds'],
    ['0 9 * * *', 'every day at 09:00'],
    ['30 8,20 * * *', 'every day at 08:30 and 20:30'],
    ['0 9 * * 1-5', 'on weekdays at 09:00'],
    ['0 9 * * MON-FRI', 'on weekdays at 09:00'],
    ['0 7 * * 1', 'on Monday at 07:00'],
    ['0 7 * * 7', 'on Sunday at 07:00'],
    ['0 7 * * mon,wed,fri', 'on Monday, Wednesday and Friday at 07:00'],
    ['0 3 1 * *', 'on day 1 of the month at 03:00'],
    ['0 0 4 * * *', 'every day at 04:00'],
  ])('%s: %s', (cron, words) => {
    expect(cronInWords(cron)).toBe(words)
  })

  it.each([
    '0 9 1 1 *',
    '0 9 1 * 1',
    '0-30 * * * *',
    '0 9-17 * * *',
    '5 */2 * * *',
    '0 9 * * 5L',
    '@daily',
    '',
  ])('has no words for %s', (cron) => {
    expect(cronInWords(cron)).toBeNull()
  })
})
