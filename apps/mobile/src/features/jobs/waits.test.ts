import { describe, expect, it } from 'vitest'
import { openWaits, type Waits, waitInWords } from './waits.ts'

const NOW = Date.parse('2026-11-03T12:00:00Z')
const at = (text: string) => new Date(text).toISOString()
const waits = (...open: Waits['for']): Waits => ({ since: at('2026-11-01T12:00:00Z'), for: open })
const bank = { kind: 'signal', name: 'bank', until: at('2026-11-05T12:00:00Z') } as const

describe('what a suspended job waits for', () => {
  it.each([
    [waits(bank), /^Waiting for “bank” for 2.d, until 5.Nov$/],
    [waits({ ...bank, until: null }), /^Waiting for “bank” for 2.d$/],
    [waits({ ...bank, until: at('2027-11-05T12:00:00Z') }), /, until 5.Nov 2027$/],
    [waits({ kind: 'ask', name: 'approve', until: null }), /^Waiting for an answer to “approve” for 2.d$/],
    [
      waits({ kind: 'timer', name: 'settle', until: at('2026-11-05T12:00:00Z') }),
      /^Sleeping \(“settle”\) for 2.d, until 5.Nov$/,
    ],
    [
      waits({ kind: 'retry', name: 'charge', until: at('2026-11-03T12:00:40Z') }),
      /^Retrying step “charge” in 40.s$/,
    ],
    [
      waits({ kind: 'children', name: '5', until: null, children: { left: 3, total: 5 } }),
      /^Waiting for 3 of 5 children for 2.d$/,
    ],
  ])('is said in one sentence', (given, said) => {
    expect(waitInWords(given, NOW)).toMatch(said)
  })

  it('is the retry of an undo, of a job that is being undone', () => {
    const retry = { kind: 'retry', name: 'refund', until: at('2026-11-03T12:00:40Z') } as const
    expect(waitInWords(waits(retry), NOW, true)).toMatch(/^Retrying undo “refund” in 40.s$/)
  })

  it('of several waits names all, and the end of the first', () => {
    const timer = { kind: 'timer', name: 'settle', until: at('2026-11-04T12:00:00Z') } as const
    expect(waitInWords(waits(bank, timer), NOW)).toMatch(
      /^Waiting for “bank” or the end of “settle” for 2.d, until 4.Nov$/,
    )
  })

  it('today ends at a time', () => {
    const today = { ...bank, until: at('2026-11-03T12:30:00Z') }
    expect(waitInWords(waits(today), NOW)).toMatch(/, until \d\d:30.UTC/)
  })
})

describe('a job is suspended', () => {
  const job = { status: 'pending', runAt: new Date(NOW + 1), waits: waits(bank) } as const

  it('until its time has come, or it was woken', () => {
    expect(openWaits(job, NOW)).toBe(job.waits)
    expect(openWaits({ ...job, status: 'blocked', runAt: new Date(NOW) }, NOW)).toBe(job.waits)
    expect(openWaits({ ...job, runAt: new Date(NOW) }, NOW)).toBeNull()
    expect(openWaits({ ...job, status: 'processing' }, NOW)).toBeNull()
    expect(openWaits({ ...job, waits: null }, NOW)).toBeNull()
  })
})
