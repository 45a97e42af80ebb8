import { describe, expect, it, vi } from 'vitest'
import { latestTick, nextRuns, parseCron, previewRuns, ticksToRun } from './cron.ts'

const HOUR = 3_600_000
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Shanghai', 'Australia/Lord_Howe', 'UTC']
const PATTERNS = [
  '30 2 * * *',
  '0 * * * *',
  '*/20 1-3 * * *',
  '15,45 2 * * 0',
  '0 0 1 * *',
  '10 30 2 * * *',
  '@daily',
]
/** Days around the changes of all these zones, in both directions. */
const CHANGES = ['2026-03-08', '2026-03-29', '2026-04-04', '2026-10-04', '2026-10-25', '2026-11-01']

const cases = ZONES.flatMap((zone) => PATTERNS.map((cron) => [cron, zone] as const))

/** All ticks from two days before a change to two days after it. */
function around(cron: string, zone: string, day: string): { ticks: Date[]; from: number; to: number } {
  const from = Date.parse(day) - 48 * HOUR
  const to = from + 96 * HOUR
  const ticks: Date[] = []
  const pattern = parseCron(cron, zone)
  for (let tick = pattern.next(new Date(from)); tick && tick.getTime() <= to; tick = pattern.next(tick)) {
    ticks.push(tick)
  }
  return { ticks, from, to }
}

describe('the ticks of a pattern', () => {
  it.each(cases)('%s in %s are the same from any starting point', (cron, zone) => {
    const pattern = parseCron(cron, zone)
    for (const day of CHANGES) {
      const { ticks, from, to } = around(cron, zone, day)
      // 47 minutes and a bit, so that it hits every part of an hour.
      for (let ms = from; ms < to; ms += 47 * 60_000 + 17_003) {
        const expected = ticks.find((tick) => tick.getTime() > ms)
        if (expected) expect(pattern.next(new Date(ms)), new Date(ms).toISOString()).toEqual(expected)
      }
    }
  })

  it.each(cases)('%s in %s: the latest is found by halving', (cron, zone) => {
    const pattern = parseCron(cron, zone)
    for (const day of CHANGES) {
      const { ticks, to } = around(cron, zone, day)
      const [first] = ticks
      if (!first) continue
      for (let ms = first.getTime(); ms < to; ms += 2 * HOUR + 1) {
        const expected = ticks.findLast((tick) => tick.getTime() <= ms)
        expect(latestTick(pattern, first, new Date(ms)), new Date(ms).toISOString()).toEqual(expected)
      }
    }
  })

  it('that were missed for a year are not counted one by one', () => {
    let asked = 0
    const everySecond = {
      next: (after: Date) => {
        asked += 1
        return new Date(Math.floor(after.getTime() / 1_000) * 1_000 + 1_000)
      },
    }
    const year = [new Date('2026-01-01T00:00:00Z'), new Date('2027-01-01T00:00:00.500Z')] as const
    expect(ticksToRun(everySecond, ...year, 'one')).toEqual([new Date('2027-01-01T00:00:00Z')])
    expect(asked).toBeLessThan(40)
    expect(ticksToRun(everySecond, ...year, 'all')).toHaveLength(100)
    expect(ticksToRun(everySecond, ...year, 'skip')).toHaveLength(60)
    expect(asked).toBeLessThan(4_000)
  })
})

describe('the next runs', () => {
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

  it('continue from now where the planned one is overdue: missed ticks are not listed', () => {
    expect(told(hourly, '2026-01-01T04:10Z')).toEqual([
      '2026-01-01T01:00',
      '2026-01-01T05:00',
      '2026-01-01T06:00',
    ])
  })

  it('follow the daylight saving time of their zone', () => {
    const morning = { cron: '30 9 * * *', timezone: 'Europe/Berlin', nextAt: at('2026-03-28T08:30Z') }
    expect(told(morning, '2026-03-27T12:00Z')).toEqual([
      '2026-03-28T08:30',
      '2026-03-29T07:30',
      '2026-03-30T07:30',
    ])
  })

  it('are empty for a paused schedule', () => {
    expect(nextRuns({ ...hourly, nextAt: null }, at('2026-01-01T00:30Z'))).toEqual([])
  })

  it('are only the planned one where the pattern was broken by hand', () => {
    expect(told({ ...hourly, cron: 'now and then' }, '2026-01-01T00:30Z')).toEqual(['2026-01-01T01:00'])
  })
})

describe('a preview', () => {
  const after = new Date('2026-10-24T12:00:00Z')

  // Tried second by second until the year 3000, this takes a minute.
  it('of an hour that is always skipped ends soon', { timeout: 30_000 }, () => {
    expect(() => previewRuns('* * 2 * 3 0L', 'Europe/Berlin', after, 1)).toThrow('never ticks')
  })

  it.each([
    ['0 20 31 12 *', 'Etc/GMT+12', '2027-01-01T05:00:00Z', '2027-01-01T08:00:00Z'],
    ['0 12 31 12 *', 'Pacific/Kiritimati', '2026-12-31T23:30:00Z', '2027-12-30T22:00:00Z'],
    ['0 0 29 2 *', 'Asia/Tokyo', '2026-10-24T12:00:00Z', '2028-02-28T15:00:00Z'],
  ])('of %s in %s after %s finds the year of its zone', (cron, timezone, from, first) => {
    expect(previewRuns(cron, timezone, new Date(from), 1)).toEqual([new Date(first)])
  })

  it('remembers one spelling of a zone, however it is written', () => {
    const made = vi.spyOn(Intl, 'DateTimeFormat')
    previewRuns('0 9 * * *', 'america/ARGENTINA/comodrivadavia', after, 1)
    const zones = made.mock.calls.map(([, options]) => options?.timeZone)
    made.mockRestore()
    const ours = zones.filter((zone) => zone === 'america/ARGENTINA/comodrivadavia')
    expect(zones.length).toBeGreaterThan(ours.length)
  })

  it('is the next ticks by the clock of its zone, also over its change', () => {
    expect(previewRuns('30 9 * * *', 'Europe/Berlin', after, 3).map((run) => run.toISOString())).toEqual([
      ...['2026-10-25T08:30:00.000Z', '2026-10-26T08:30:00.000Z', '2026-10-27T08:30:00.000Z'],
    ])
    expect(previewRuns('30 9 24 10 *', 'Europe/Berlin', after, 1)[0]?.toISOString()).toBe(
      '2027-10-24T07:30:00.000Z',
    )
  })

  it.each([
    ['61 * * * *', 'minute "61" must be 0-59'],
    ['0 25 * * *', 'hour "25" must be 0-23'],
    ['* * 32 * *', 'day of month "32" must be 1-31'],
    ['* * 0 * *', 'day of month "0" must be 1-31'],
    ['0 9 * * MOX', 'day of week "MOX" must be 0-7 or SUN-SAT'],
    ['*/0 * * * *', 'minute "*/0" must be 0-59'],
    ['70 0 9 * * *', 'second "70" must be 0-59'],
    ['@never', 'there is no nickname @never'],
    ['* * *', 'must have five or six fields'],
    ['0 0 31 2 *', 'never ticks'],
  ])('of %s says what is wrong', (cron, message) => {
    expect(() => previewRuns(cron, 'UTC', after, 3)).toThrow(
      expect.objectContaining({ code: 'INVALID_CRON', message: expect.stringContaining(message) }),
    )
  })
})
