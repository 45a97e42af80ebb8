import { describe, expect, it, vi } from 'vitest'
import {
  barInWords,
  headlineOf,
  leftAloneInWords,
  leftAloneOf,
  many,
  outcomeInWords,
  outcomesInWords,
  phraseOf,
  progressOf,
  reasonInWords,
  scopeOf,
} from './words.ts'

vi.stubEnv('TZ', 'Europe/Berlin')

const base = { action: 'requeue', total: 312, totalIsExact: true, done: 309, skipped: {} } as const

describe('how a bulk operation went, in words', () => {
  it.each([
    [{}, 'retried 309'],
    [{ skipped: { INVALID_STATE: 3 } }, 'retried 309, skipped 3 (already waiting or running)'],
    [{ skipped: { JOB_NOT_FOUND: 1, CHANGED: 2 } }, 'retried 309, skipped 3'],
    [{ action: 'cancel', skipped: { INVALID_STATE: 3 } }, 'cancelled 309, skipped 3 (already finished)'],
  ] as const)('%j: %s', (differs, words) => {
    expect(outcomeInWords({ ...base, status: 'completed', ...differs })).toBe(words)
  })

  it.each([
    ['running', 'Retrying 312 jobs'],
    ['completed', 'Retried 309'],
    ['stopped', 'Stopped: retried 309 of 312'],
    ['failed', 'Failed: retried 309 of 312'],
  ] as const)('%s: %s', (status, words) => {
    expect(headlineOf({ ...base, status })).toBe(words)
  })

  it.each([
    ['run_now', { suspended: 2, undoing: 1 }, 2, /^2 are waiting for .* and are skipped\.$/],
    ['cancel', { suspended: 2, undoing: 1 }, 1, /^1 is being undone, and is skipped\.$/],
    [
      'delete',
      { suspended: 2, undoing: 1 },
      3,
      /^2 are waiting for .* and 1 is being undone, and are skipped\.$/,
    ],
    [
      'requeue',
      { suspended: 1 },
      1,
      /^1 is waiting for a signal, an answer, a time or children, and is skipped\.$/,
    ],
  ] as const)('a %s of %j is said to leave some alone', (action, states, many, words) => {
    expect(leftAloneOf(action, states)).toBe(many)
    expect(leftAloneInWords(action, states)).toMatch(words)
    expect(leftAloneInWords(action, { pending: 3, failed: 1 })).toBeNull()
  })

  it('says "at least" where the count was cut short', () => {
    expect(many(100_000, false)).toBe('at least 100,000')
  })

  it('has words for an unknown reason', () => {
    expect(reasonInWords('TOO_LATE', 'delete')).toBe('too late')
  })
})

describe('how far it is', () => {
  it.each([
    [{ done: 0, skipped: {}, total: 312, status: 'running' }, 0],
    [{ done: 150, skipped: { CHANGED: 6 }, total: 312, status: 'running' }, 0.5],
    [{ done: 400, skipped: {}, total: 312, status: 'running' }, 1],
    [{ done: 0, skipped: {}, total: 0, status: 'running' }, 0],
    [{ done: 300, skipped: {}, total: 312, status: 'completed' }, 1],
  ] as const)('%j: %d', (operation, share) => {
    expect(progressOf(operation)).toBe(share)
  })
})

describe('which jobs, in words', () => {
  it.each([
    [{ status: 'failed', fingerprint: 'ab' }, 'failed jobs with the same error'],
    [{ status: 'pending', queue: 'mail' }, 'waiting jobs in “mail”'],
    [{ topic: 'digest', payloadText: 'u_1' }, 'jobs of “digest” with “u_1” in the payload'],
    [{ idSuffix: '1a2b', errorText: 'no' }, 'jobs whose id ends with 1a2b with “no” in the error'],
    [
      { queue: 'a', createdFrom: new Date('2026-11-16T03:12:00Z') },
      'jobs in “a” created from 16\u00a0Nov 2026, 04:12\u00a0UTC+1',
    ],
  ])('%j: %s', (filter, words) => {
    expect(scopeOf(filter)).toBe(words)
  })

  it('names the error of a fingerprint, where it is known', () => {
    const error = { class: 'GatewayTimeoutError', message: 'no answer' }
    expect(scopeOf({ status: 'failed', fingerprint: 'ab', queue: 'mail' }, error)).toBe(
      'failed jobs in “mail” with GatewayTimeoutError · no answer',
    )
    expect(scopeOf({ queue: 'mail' }, error)).toBe('jobs in “mail”')
  })
})

describe('a bulk operation that watches its jobs', () => {
  const running = { action: 'requeue', status: 'running', total: 5_000, totalIsExact: true } as const

  it('says in the bar how far it is', () => {
    expect(barInWords({ ...running, done: 225, skipped: {} })).toBe('Retrying 225 of 5,000')
    expect(barInWords({ ...running, status: 'canary', done: 5, skipped: {} })).toBe('Trying 5 of 5,000 first')
  })

  it('shows their outcomes, without those that are zero', () => {
    const outcomes = { completed: 131, running: 12, waiting: 0, failedAgain: 27, cancelled: 0 }
    expect(outcomesInWords(outcomes)).toBe('131 completed · 12 running · 27 failed again')
  })

  it('says first that jobs failed again, as requeueing them helped nothing', () => {
    const outcomes = { completed: 0, running: 0, waiting: 0, failedAgain: 33, cancelled: 0 }
    const ended = { ...running, status: 'completed', total: 33, done: 33, skipped: {}, outcomes } as const
    expect(headlineOf(ended)).toBe('33 of 33 failed again')
  })

  it('says why it stopped by itself', () => {
    const error = { code: 'FAILED_AGAIN', message: '2 of 5 failed again' }
    expect(headlineOf({ ...running, status: 'stopped', done: 5, skipped: {}, error })).toBe(
      'Stopped: 2 of 5 failed again',
    )
  })

  it('words the action run_now', () => {
    expect(phraseOf('run_now', '12 jobs')).toBe('Run 12 jobs now')
    expect(reasonInWords('ALREADY_DUE', 'run_now')).toBe('already due')
  })
})
