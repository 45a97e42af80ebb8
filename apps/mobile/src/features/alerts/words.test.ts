import { describe, expect, it } from 'vitest'
import { byUrgency, conditionOf, fromEntered, KINDS, placeOf, snoozeChoices, toEntered } from './words.ts'

const plain = (text: string) => text.replaceAll('\u202f', ' ')

describe('a rule in words', () => {
  it.each([
    ['oldest_waiting', 300, 60, 'the oldest job waits longer than 5 min, for 1 min'],
    ['failure_rate', 0.1, 120, '10% or more of runs fail within 15 min, for 2 min'],
    ['no_workers', 0, 60, 'no worker is alive for 1 min'],
    ['no_workers', 2, 60, 'at most 2 workers alive, for 1 min'],
    ['stalled', 1, 300, '1 job or more wait and none finishes, for 5 min'],
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
