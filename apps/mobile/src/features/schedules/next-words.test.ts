import { expect, it, vi } from 'vitest'
import { runsInWords, thenInWords } from './next-words.ts'

vi.stubEnv('TZ', 'Europe/Berlin')

const at = (hour: number, minute = 0, second = 0) => new Date(2026, 10, 16, hour, minute, second)
const plain = (text: string) => text.replaceAll('\u00a0', ' ')
const NOW = at(2, 57).getTime()

it.each([
  ['of one day by their times', [at(3), at(4), at(5)], '03:00, then 04:00, 05:00 UTC+1'],
  ['of other days with the day', [at(9), at(33), at(57)], '09:00, then 17 Nov 09:00, 18 Nov 09:00 UTC+1'],
  ['past midnight with the day, once', [at(23), at(24), at(25)], '23:00, then 17 Nov 00:00, 01:00 UTC+1'],
  ['of another day than today with it', [at(27), at(28)], '17 Nov 03:00, then 04:00 UTC+1'],
  ['with seconds where there are any', [at(3), at(3, 0, 10)], '03:00, then 03:00:10 UTC+1'],
  ['alone where it is the last', [at(3)], '03:00 UTC+1'],
  ['not at all where there is none', [], ''],
])('writes runs %s', (_, runs, words) => expect(plain(runsInWords(runs, NOW))).toBe(words))

it('writes the runs after the first', () => {
  expect(plain(thenInWords([at(3), at(4), at(5)]))).toBe('then 04:00, 05:00 UTC+1')
  expect(thenInWords([at(3)])).toBe('')
})

it('tells the zone twice where summer time ends in between', () => {
  const runs = [new Date('2026-10-24T22:00:00Z'), new Date('2026-10-25T23:00:00Z')]
  expect(plain(runsInWords(runs, runs[0]?.getTime() ?? 0))).toBe('00:00 UTC+2, then 26 Oct 00:00 UTC+1')
})

it('breaks a line before a run, not within one', () => {
  expect(runsInWords([at(33), at(57)], NOW)).toBe(
    '17\u00a0Nov\u00a009:00, then\u00a018\u00a0Nov\u00a009:00\u00a0UTC+1',
  )
})
