import { expect, it } from 'vitest'
import { recordedSteps } from './rerun.ts'
import type { Entry } from './timeline.ts'

type Told = Extract<Entry, { kind: 'told' }>

const FAILED = { status: 'failed' } as const

let at = 0
const told = (what: Told['what'], name: string): Entry => {
  at += 1
  const nothing = { by: null, until: null, data: null, size: null, within: null, tookMs: null }
  return { ...nothing, key: `${what} ${name} ${at}`, at: new Date(at), kind: 'told', what, name, path: '' }
}
const forgot = (from: string | null): Entry => {
  at += 1
  return { key: String(at), at: new Date(at), kind: 'event', type: 'steps_forgotten', data: { from } }
}

/** "book · pay ·": a dot means that no rerun starts there. */
const inShort = (...entries: readonly Entry[]) =>
  recordedSteps(FAILED, entries)
    .map(({ name, isStart }) => (isStart ? name : `${name} ·`))
    .join(', ')

const booked = [told('step', 'book'), told('undo', 'unbook'), told('step', 'pay'), told('undo', 'refund')]

it('lets a job run again from each of its steps', () => {
  expect(inShort(...booked)).toBe('book, pay')
  expect(inShort(...booked, forgot('pay'), told('step', 'pay'), told('step', 'ship'))).toBe('book, pay, ship')
  expect(inShort(...booked, forgot(null), told('step', 'book'))).toBe('book')
  expect(recordedSteps({ status: 'processing' }, booked)).toEqual([])
})

it('lets a job that was undone run again from its first undone step at the latest', () => {
  const undone = [...booked, told('undone', 'refund'), told('undone', 'unbook')]
  expect(inShort(...undone)).toBe('book, pay ·')
  expect(inShort(...undone, forgot('book'), told('step', 'book'), told('step', 'pay'))).toBe('book, pay')
})

it('keeps the steps before the last undo that has not run', () => {
  expect(inShort(...booked, told('step', 'ship'), told('undone', 'refund'))).toBe('book, pay, ship ·')
})
