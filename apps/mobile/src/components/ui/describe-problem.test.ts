import { OncueError } from '@oncue/sdk'
import { expect, it, vi } from 'vitest'
import { describeProblem } from './describe-problem.ts'

it.each([
  ['NETWORK_ERROR', 'The server is not responding', true],
  ['REQUEST_TIMEOUT', 'The server is not responding', true],
  ['FORBIDDEN', 'No access', false],
  ['JOB_NOT_FOUND', 'No such job', false],
  ['ALERT_NOT_FOUND', 'No such alert', false],
  ['BULK_OPERATION_NOT_FOUND', 'No such bulk operation', false],
  ['WORKER_NOT_FOUND', 'No such worker', false],
  ['NOT_FOUND', 'Incompatible server version', true],
  ['DATABASE_UNAVAILABLE', 'This did not work', true],
  ['INVALID_INPUT', 'This did not work', false],
] as const)('%s is explained as "%s"; retry: %s', (code, title, canRetry) => {
  expect(describeProblem(new OncueError(code, 'why'))).toMatchObject({ title, canRetry })
})

it.each([
  ['NETWORK_ERROR', ' is unreachable: Failed to fetch', /^The server is unreachable\. The app/],
  ['NETWORK_ERROR', 'https://oncue.test/api is unreachable: x', /^oncue\.test is unreachable\./],
  [
    'NETWORK_ERROR',
    'https://oncue.test is not an Oncue API',
    /^Something other than Oncue responded at oncue/,
  ],
  [
    'REQUEST_TIMEOUT',
    'https://oncue.test did not respond to jobs.get',
    /^oncue\.test took too long to respond\./,
  ],
] as const)('%s "%s" is explained in plain words', (code, message, told) => {
  const { text } = describeProblem(new OncueError(code, message))
  expect(text).toMatch(told)
  expect(text).toMatch(/keeps reconnecting, but never resends an action\.$/)
})

it.each([
  'input.id: Invalid string: must match pattern /^[0-9a-f]{8}$/, got "abc"',
  'input.id: Invalid UUID, got "abc"',
])('a link with an invalid id is explained like one to a missing job: %s', (message) => {
  expect(describeProblem(new OncueError('INVALID_INPUT', message))).toEqual({
    title: 'There is nothing here',
    text: 'The link does not end in a complete id. It may be cut off or mistyped. Search for it in the list.',
    icon: 'remove',
    canRetry: false,
  })
})

it('says what to do, in the words of the error', () => {
  const { text } = describeProblem(new OncueError('FORBIDDEN', 'A viewer may not do this'))
  expect(text).toMatch(/^A viewer may not do this\. Use a token/)
})

it('says of another server that it is not Oncue', () => {
  const problem = describeProblem(new OncueError('NETWORK_ERROR', 'https://oncue.test is not an Oncue API'))
  expect(problem.title).toBe('This is not Oncue')
})

it('names no procedure to the person on call', () => {
  const { text } = describeProblem(new OncueError('BULK_OPERATION_NOT_FOUND', 'There is no bulk operation 1'))
  expect(text).toBe('Finished ones are kept for 90 days.')
})

it('says which time the id of a missing job contains, and not that there was such a job', () => {
  vi.stubEnv('TZ', 'Europe/Berlin')
  const at = new Date('2026-10-03T12:05:00Z')
  const hex = at.getTime().toString(16).padStart(12, '0')
  const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7c3a-9d2e-5b8a4f1e6d70`
  const { text } = describeProblem(new OncueError('JOB_NOT_FOUND', `There is no job "${id}"`))
  expect(text).toBe(
    `No job ${id}. Going by the id, it would be from 3\u00a0Oct 2026, 14:05\u00a0UTC+2; finished jobs are kept for a limited time.`,
  )
})

it('shows the message of an unknown error', () => {
  expect(describeProblem(new Error('boom')).text).toBe('boom')
})
