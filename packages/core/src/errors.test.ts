import { describe, expect, expectTypeOf, it } from 'vitest'
import documentation from '../../../docs/errors.md?raw'
import { ERRORS, type ErrorCode, isOncueError, OncueError } from './errors.ts'
import { errorResponseSchema } from './wire/fields.ts'

describe('OncueError', () => {
  it('takes hint and retryable from the table', () => {
    const error = new OncueError('DATABASE_BUSY', 'the pool is empty')
    expect(error).toMatchObject({
      name: 'OncueError',
      code: 'DATABASE_BUSY',
      message: 'the pool is empty',
      hint: ERRORS.DATABASE_BUSY.hint,
      retryable: true,
    })
  })

  it('keeps a better hint, details and the cause', () => {
    const cause = new Error('socket closed')
    const error = new OncueError('DATABASE_ERROR', 'no', { cause, hint: 'Do this.', details: { attempt: 2 } })
    expect(error).toMatchObject({ hint: 'Do this.', details: { attempt: 2 }, cause })
    expect(new OncueError('INTERNAL', 'no')).not.toHaveProperty('cause')
  })

  it('becomes the REST shape as JSON: no stack, no cause', () => {
    const error = new OncueError('JOB_NOT_FOUND', 'no job 7', { cause: new Error('secret') })
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: 'JOB_NOT_FOUND',
      message: 'no job 7',
      hint: ERRORS.JOB_NOT_FOUND.hint,
    })
    expect(errorResponseSchema.parse({ error: error.toJSON() })).toEqual({ error: error.toJSON() })
  })
})

describe('isOncueError', () => {
  const error: unknown = new OncueError('STALE_RUN', 'lost')

  it('recognises its own errors, and their code if one is given', () => {
    expect(isOncueError(error)).toBe(true)
    expect(isOncueError(error, 'STALE_RUN')).toBe(true)
    expect(isOncueError(error, 'INTERNAL')).toBe(false)
    if (isOncueError(error, 'STALE_RUN')) expectTypeOf(error.code).toEqualTypeOf<'STALE_RUN'>()
    if (isOncueError(error)) expectTypeOf(error.code).toEqualTypeOf<ErrorCode>()
  })

  it('recognises the errors of another copy of this package', () => {
    expect(isOncueError({ [Symbol.for('oncue.error')]: true, code: 'STALE_RUN' }, 'STALE_RUN')).toBe(true)
  })

  it.each([new Error('STALE_RUN'), { code: 'STALE_RUN' }, null, undefined, 'STALE_RUN'])(
    'refuses %s',
    (other) => {
      expect(isOncueError(other)).toBe(false)
    },
  )

  it('does not compile with a code that is not in the table', () => {
    // @ts-expect-error no such code
    expect(isOncueError(error, 'NO_SUCH_CODE')).toBe(false)
  })
})

describe('docs/errors.md', () => {
  const row = /^\| `(\w+)` +\| (\d+) +\| (yes|no) +\| \S.* \| \S.* \|$/gm
  const documented = [...documentation.matchAll(row)].map(
    ([, code, http, retry]) => `${code} ${http} ${retry}`,
  )
  const known = Object.entries(ERRORS).map(
    ([code, { http, retryable }]) => `${code} ${http} ${retryable ? 'yes' : 'no'}`,
  )

  it('documents every code, and no other, with its status', () => {
    expect(documented.sort()).toEqual(known.sort())
  })
})

describe('hints', () => {
  it.each(Object.entries(ERRORS))('%s says what to do, in a sentence', (_, { hint }) => {
    expect(hint).toMatch(/^[A-Z].{15,}\.$/)
  })
})
