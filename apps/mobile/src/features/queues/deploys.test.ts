import { expect, it } from 'vitest'
import { deploysOf } from './deploys.ts'

const at = (time: string) => new Date(`2026-11-16T${time}Z`)
const WORKERS = [
  { version: '1.3.0', startedAt: at('03:10:00'), queues: ['mail'] },
  { version: '1.2.0', startedAt: at('01:00:00'), queues: ['mail', 'media'] },
  { version: '1.3.0', startedAt: at('03:05:00'), queues: ['media'] },
]

it('marks when the first worker of each version appeared', () => {
  expect(deploysOf(WORKERS, null)).toEqual([
    { at: at('01:00:00'), label: 'deploy 1.2.0' },
    { at: at('03:05:00'), label: 'deploy 1.3.0' },
  ])
})

it('marks for a queue those that serve it', () => {
  expect(deploysOf(WORKERS, 'mail').at(-1)).toEqual({ at: at('03:10:00'), label: 'deploy 1.3.0' })
})
