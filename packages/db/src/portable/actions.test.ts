import { newJobId, OncueError } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import { act } from './actions.ts'

describe('an action on many jobs', () => {
  const ids = Array.from({ length: 1_200 }, () => newJobId())
  const now = async () => new Date(0)
  const match = () => Promise.reject(new Error('nothing is to be matched'))

  it('that fails midway reports what it had done', async () => {
    let batches = 0
    const run = async (batch: readonly string[]) => {
      batches += 1
      if (batches === 3) throw new OncueError('DATABASE_UNAVAILABLE', 'gone', { details: { code: '57P01' } })
      return [
        { reason: 'done', count: batch.length - 1, ids: null },
        { reason: 'INVALID_STATE', count: 1, ids: null },
      ]
    }
    await expect(act(ids, {}, { now, match, run })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: 'gone',
      details: { code: '57P01', done: 998, skipped: { INVALID_STATE: 2 } },
    })
  })

  it('that fails before it did anything reports only the error', async () => {
    const error = new OncueError('DATABASE_UNAVAILABLE', 'gone')
    const run = () => Promise.reject(error)
    await expect(act(ids, {}, { now, match, run })).rejects.toBe(error)
  })
})
