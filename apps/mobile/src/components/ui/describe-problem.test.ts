import { OncueError } from '@oncue/sdk'
import { expect, it } from 'vitest'
import { describeProblem } from './describe-problem.ts'

it.each([
  ['NETWORK_ERROR', 'The server does not answer', true],
  ['REQUEST_TIMEOUT', 'The server does not answer', true],
  ['FORBIDDEN', 'You may not see this', false],
  ['JOB_NOT_FOUND', 'This job is gone', false],
  ['NOT_FOUND', 'The server is of another version', true],
  ['DATABASE_UNAVAILABLE', 'This did not work', true],
  ['INVALID_INPUT', 'This did not work', false],
] as const)('%s is told as "%s"; retry: %s', (code, title, canRetry) => {
  expect(describeProblem(new OncueError(code, 'why'))).toMatchObject({ title, canRetry })
})

it('tells what to do, in the words of the error', () => {
  const { text } = describeProblem(new OncueError('FORBIDDEN', 'A viewer may not do this'))
  expect(text).toMatch(/^A viewer may not do this\. Use a token/)
})

it('tells of a job that is gone when it was enqueued', () => {
  const at = new Date(2026, 9, 3, 14, 5)
  const hex = at.getTime().toString(16).padStart(12, '0')
  const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7c3a-9d2e-5b8a4f1e6d70`
  const { text } = describeProblem(new OncueError('JOB_NOT_FOUND', `There is no job "${id}"`))
  expect(text).toBe(
    `No job ${id}: it was enqueued on 3 Oct 2026, 14:05, and finished jobs are removed after a while.`,
  )
})

it('does not hide what it does not know', () => {
  expect(describeProblem(new Error('boom')).text).toBe('boom')
})
