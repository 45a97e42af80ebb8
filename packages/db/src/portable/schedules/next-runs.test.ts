import { expect, it } from 'vitest'
import { nextRuns } from './next-runs.ts'

const at = (iso: string) => new Date(iso)
const hourly = { cron: '0 * * * *', timezone: 'UTC', nextAt: at('2026-01-01T01:00Z') }
const told = (schedule: typeof hourly, now: string) =>
  nextRuns(schedule, at(now)).map((run) => run.toISOString().slice(0, 16))

it('are the planned one and the two after it', () => {
  expect(told(hourly, '2026-01-01T00:30Z')).toEqual([
    '2026-01-01T01:00',
    '2026-01-01T02:00',
    '2026-01-01T03:00',
  ])
})

it('go on from now where the planned one is overdue: those between are not runs to come', () => {
  expect(told(hourly, '2026-01-01T04:10Z')).toEqual([
    '2026-01-01T01:00',
    '2026-01-01T05:00',
    '2026-01-01T06:00',
  ])
})

it('follow the clocks of their zone', () => {
  const morning = { cron: '30 9 * * *', timezone: 'Europe/Berlin', nextAt: at('2026-03-28T08:30Z') }
  expect(told(morning, '2026-03-27T12:00Z')).toEqual([
    '2026-03-28T08:30',
    '2026-03-29T07:30',
    '2026-03-30T07:30',
  ])
})

it('are none of one that is paused', () => {
  expect(nextRuns({ ...hourly, nextAt: null }, at('2026-01-01T00:30Z'))).toEqual([])
})

it('are what was planned, where somebody broke the pattern by hand', () => {
  expect(told({ ...hourly, cron: 'now and then' }, '2026-01-01T00:30Z')).toEqual(['2026-01-01T01:00'])
})
