import type { ClaimedJob } from '@oncue/db'
import { expect, it } from 'vitest'
import { claimAgainMs } from './runner.ts'

const now = new Date('2026-01-01T00:00:00.000Z')
const inMs = (ms: number) => new Date(now.getTime() + ms)

it.each([
  ['at once after it found something', [{} as ClaimedJob], null, 0],
  ['when the next is due', [], inMs(700), 700],
  ['after five seconds at the latest', [], inMs(60_000), 5_000],
  ['after five seconds when nothing is due', [], null, 5_000],
  ['after five seconds, and not without end, when it may not have what is due', [], inMs(-1), 5_000],
])('claims again %s', (_, jobs, nextDue, expected) => {
  expect(claimAgainMs({ jobs, nextDue, now })).toBe(expected)
})
