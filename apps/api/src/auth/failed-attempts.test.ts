import { OncueError } from '@oncue/core'
import { silentLogger } from '@oncue/runtime'
import { expect, it, vi } from 'vitest'
import type { ApiContext } from '../context.ts'
import { FailedAttempts } from './failed-attempts.ts'

const REFUSED = new OncueError('PAIRING_REFUSED', 'wrong')

function given() {
  const recorded = vi.fn(async () => {})
  const warned = vi.fn()
  const from = (ip: string) =>
    ({
      request: { id: 'r', ip },
      log: { ...silentLogger, warn: warned },
      audit: { record: recorded },
    }) as unknown as ApiContext
  return { ctx: from('192.0.2.1'), from, recorded, warned }
}

it('records a limited number per minute, says once that there are more, and starts again', async () => {
  const { from, recorded, warned } = given()
  let now = 0
  const attempts = new FailedAttempts({ monotonic: () => now })
  for (let n = 0; n < 1_000; n++)
    await attempts.record(from(`192.0.2.${n % 200}`), 'pairings.refused', REFUSED)
  expect([recorded.mock.calls.length, warned.mock.calls.length]).toEqual([300, 301])
  expect(warned).toHaveBeenLastCalledWith(
    expect.anything(),
    'audit of failed attempts is capped at 300 per minute; dropping the rest',
  )
  now = 60_000
  await attempts.record(from('192.0.2.1'), 'pairings.refused', REFUSED)
  expect(recorded).toHaveBeenCalledTimes(301)
})

it('gives each network a share, so that a flood from one does not hide attempts from others', async () => {
  const { from, recorded, warned } = given()
  const attempts = new FailedAttempts({ monotonic: () => 0 })
  for (let n = 0; n < 1_000; n++)
    await attempts.record(from(`2001:db8::${n.toString(16)}`), 'session.refused', REFUSED)
  expect([recorded.mock.calls.length, warned.mock.calls.length]).toEqual([10, 11])
  expect(warned).toHaveBeenLastCalledWith(
    expect.anything(),
    'audit of failed attempts is capped at 10 per minute and network; dropping the rest from this network',
  )
  const other = from('192.0.2.1')
  await attempts.record(other, 'pairings.refused', REFUSED)
  expect(recorded).toHaveBeenLastCalledWith(other, 'pairings.refused', expect.anything())
})

it('does not record server errors and rate-limited attempts', async () => {
  const { ctx, recorded, warned } = given()
  const attempts = new FailedAttempts()
  for (const code of ['DATABASE_UNAVAILABLE', 'JWKS_UNAVAILABLE', 'RATE_LIMITED'] as const)
    await attempts.record(ctx, 'session.refused', new OncueError(code, 'x'))
  expect(recorded).not.toHaveBeenCalled()
  expect(warned).not.toHaveBeenCalled()
})

it('does not fail where the audit cannot be written', async () => {
  const { ctx, recorded } = given()
  recorded.mockRejectedValue(new Error('away'))
  await new FailedAttempts().record(ctx, 'session.refused', new OncueError('UNAUTHORIZED', 'x'))
})
