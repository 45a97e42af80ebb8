import { expect, it } from 'vitest'
import type { Services } from '../context.ts'
import { Live } from './live.ts'

it('lets a caller open a thousand streams, and another one its own', () => {
  const live = new Live({ store: {}, control: {} } as Services)
  const leave = Array.from({ length: 1_000 }, () => live.enter('ada'))
  expect(() => live.enter('ada')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }))
  live.enter('bob')
  leave[0]?.()
  live.enter('ada')
  expect(() => live.enter('ada')).toThrow('More than 1000 streams')
})
