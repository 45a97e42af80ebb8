import { OncueError } from '@oncue/core'
import { expect, it } from 'vitest'
import { pauseBefore } from './retry.ts'

const away = new OncueError('NETWORK_ERROR', 'away')
const limited = (retryAfterSeconds: number) =>
  new OncueError('RATE_LIMITED', 'too many', { details: { retryAfterSeconds } })

it.each<[string, OncueError, number, boolean, [number, number] | null]>([
  ['the first repetition comes soon', away, 0, true, [50, 100]],
  ['later ones take their time', away, 2, true, [200, 400]],
  ['but not for ever', away, 19, true, [2_500, 5_000]],
  ['there are only so many', away, 20, true, null],
  ['what may have been done is not done again', away, 0, false, null],
  ['what is wrong stays wrong', new OncueError('INVALID_INPUT', 'no'), 0, true, null],
  ['whoever sends too much waits as told, whatever the call', limited(2), 0, false, [2_000, 2_000]],
  ['unless that is long', limited(60), 0, true, null],
])('%s', (_, error, attempt, isSafe, expected) => {
  const pause = pauseBefore(error, attempt, { retries: 20, isSafe })
  if (expected === null) expect(pause).toBeNull()
  else {
    expect(pause).toBeGreaterThanOrEqual(expected[0])
    expect(pause).toBeLessThanOrEqual(expected[1])
  }
})
