import { OncueError } from '@oncue/sdk'
import { describe, expect, it } from 'vitest'
import { closedInWords, openInWords } from './words.ts'

describe('a question that takes no answer any more', () => {
  it.each([
    ['ALREADY_ANSWERED', { by: 'ada' }, 'ada has already answered this'],
    ['ALREADY_ANSWERED', undefined, 'This was already answered'],
    ['QUESTION_TIMED_OUT', undefined, 'Too late: the job went on without an answer'],
    ['JOB_FINISHED', undefined, 'The job has finished, without this answer'],
  ] as const)('says why: %s %j', (code, details, words) => {
    expect(closedInWords(new OncueError(code, 'no', { ...(details && { details }) }))).toBe(words)
  })

  it('is no answer that does not fit', () => {
    expect(closedInWords(new OncueError('INVALID_ANSWER', 'answer.ok: must be boolean'))).toBeNull()
    expect(closedInWords(new Error('no network'))).toBeNull()
  })
})

it('says for how long a question has been open, and until when', () => {
  const now = Date.parse('2026-11-03T12:00:00Z')
  const since = new Date('2026-11-01T12:00:00Z')
  expect(openInWords({ since, until: null }, now)).toMatch(/^open for 2.d$/)
  expect(openInWords({ since, until: new Date('2026-11-05T12:00:00Z') }, now)).toMatch(/, until 5.Nov$/)
})
