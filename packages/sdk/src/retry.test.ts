import { OncueError } from '@oncue/core'
import { expect, it } from 'vitest'
import { pauseBefore } from './retry.ts'

const away = new OncueError('NETWORK_ERROR', 'away')
const limited = (retryAfterSeconds: number) =>
  new OncueError('RATE_LIMITED', 'too many', { details: { retryAfterSeconds } })

it.each<[string, OncueError, number, boolean, [number, number] | null]>([
  ['the first retry comes soon', away, 0, true, [50, 100]],
  ['later retries wait longer', away, 2, true, [200, 400]],
  ['but never longer than 5 s', away, 19, true, [2_500, 5_000]],
  ['the number of retries is limited', away, 20, true, null],
  ['a call that may have had an effect is not retried', away, 0, false, null],
  ['a permanent error is not retried', new OncueError('INVALID_INPUT', 'no'), 0, true, null],
  ['a rate-limited call waits as told, whether idempotent or not', limited(2), 0, false, [2_000, 2_000]],
  ['unless that is too long', limited(60), 0, true, null],
])('%s', (_, error, attempt, isSafe, expected) => {
  const pause = pauseBefore(error, attempt, { retries: 20, isSafe })
  if (expected === null) expect(pause).toBeNull()
  else {
    expect(pause).toBeGreaterThanOrEqual(expected[0])
    expect(pause).toBeLessThanOrEqual(expected[1])
  }
})
