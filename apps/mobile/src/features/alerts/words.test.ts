import { afterEach, describe, expect, it, vi } from 'vitest'
import { showTimesIn } from '../../lib/time-zone.ts'
import { byUrgency, conditionOf, fromEntered, KINDS, placeOf, snoozeChoices, toEntered } from './words.ts'

const plain = (text: string) => text.replaceAll('\u00a0', ' ')

describe('a rule in words', () => {
  it.each([
    ['oldest_waiting', 300, 60, 'the oldest job waits longer than 5 min, for 1 min'],
    ['failure_rate', 0.1, 120, '10% or more of runs fail within 15 min, for 2 min'],
    ['no_workers', 0, 60, 'no worker is alive for 1 min'],
    ['no_workers', 1, 60, 'at most 1 worker is alive, for 1 min'],
    ['no_workers', 2, 60, 'at most 2 workers are alive, for 1 min'],
    ['stalled', 1, 300, '1 or more jobs wait and none finishes, for 5 min'],
    ['stalled', 2_500, 0, '2,500 or more jobs wait and none finishes'],
    ['new_error', 1, 0, 'an error appears that was not seen for 1 day'],
    ['new_error', 7, 0, 'an error appears that was not seen for 7 days'],
    ['paused', 3_600, 0, 'paused for more than 1 h'],
    ['paused', 0, 0, 'paused for more than 0 s'],
  ] as const)('%s', (kind, threshold, forSeconds, words) => {
    expect(plain(conditionOf({ kind, threshold, forSeconds }))).toBe(words)
  })

  it('names its queue', () => {
    expect(placeOf({ kind: 'paused', queue: 'mail' })).toBe('mail')
    expect(placeOf({ kind: 'paused', queue: null })).toBe('all queues')
    expect(placeOf({ kind: 'no_workers', queue: null })).toBe('all workers')
  })
})

describe('a limit as it is entered', () => {
  it.each(Object.entries(KINDS))('%s survives being entered and read back', (_, { scale }) => {
    for (const entered of ['0', '1', '2.5', '7', '14'])
      expect(toEntered(fromEntered(entered, scale) ?? Number.NaN, scale)).toBe(entered)
  })

  it('accepts a decimal comma, and refuses what is not a limit', () => {
    expect(fromEntered(' 2,5 ', 60)).toBe(150)
    for (const wrong of ['', '-1', '1e3', 'five', '1.']) expect(fromEntered(wrong, 60)).toBeNull()
  })
})

describe('until when to snooze', () => {
  const labelsAt = (at: Date) => snoozeChoices(at.getTime()).map(({ label }) => label)

  it('ends at nine the next day', () => {
    const evening = new Date(2026, 10, 15, 22, 30)
    expect(labelsAt(evening)).toEqual(['15 minutes', '1 hour', '8 hours', 'Until tomorrow morning'])
    expect(snoozeChoices(evening.getTime())[3]?.until).toEqual(new Date(2026, 10, 16, 9))
  })

  it('means the coming morning to a person who was woken at night', () => {
    const night = new Date(2026, 10, 16, 3, 12)
    expect(labelsAt(night)[3]).toBe('Until this morning')
    expect(snoozeChoices(night.getTime())[3]?.until).toEqual(new Date(2026, 10, 16, 9))
  })

  describe('in words', () => {
    afterEach(() => {
      vi.unstubAllEnvs()
      showTimesIn('local')
    })
    const wordsAt = (at: Date) => snoozeChoices(at.getTime()).map(({ when }) => plain(when))

    it('names the day of a morning, and of what ends on another day', () => {
      vi.stubEnv('TZ', 'Europe/Berlin')
      expect(wordsAt(new Date('2026-11-18T19:50:00Z'))).toEqual([
        '21:05 UTC+1',
        '21:50 UTC+1',
        'Thu 19 Nov, 04:50 UTC+1',
        'Thu 19 Nov, 09:00 UTC+1',
      ])
    })

    it('names the day that the shown clock has then', () => {
      vi.stubEnv('TZ', 'Pacific/Auckland')
      showTimesIn('utc')
      expect(wordsAt(new Date('2026-11-18T09:30:00Z'))[3]).toBe('Wed 18 Nov, 20:00 UTC')
    })
  })
})

it('unacknowledged alerts come first, the newest before older ones', () => {
  const alert = (id: string, state: 'firing' | 'acked' | 'snoozed', minute: number) => ({
    ...{
      id,
      ruleId: 'r',
      kind: 'paused' as const,
      queue: 'mail',
      state,
      summary: '',
      value: 0,
      threshold: 0,
    },
    ...{ firedAt: new Date(minute * 60_000), acked: null, snoozed: null, resolvedAt: null },
    ...{ groupId: id, queues: ['mail'], topic: null, fingerprint: null, updated: new Date(0) },
  })
  const sorted = byUrgency([
    ...[alert('a', 'acked', 9), alert('b', 'firing', 1), alert('c', 'snoozed', 5), alert('d', 'firing', 2)],
  ])
  expect(sorted.map(({ id }) => id)).toEqual(['d', 'b', 'c', 'a'])
})
