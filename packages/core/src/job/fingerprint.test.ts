import { describe, expect, it } from 'vitest'
import { fingerprint } from './fingerprint.ts'

const of = (frames: string, more: { class?: string; code?: string; message?: string; topic?: string } = {}) =>
  fingerprint(
    { class: more.class ?? 'TypeError', code: more.code, message: more.message ?? 'no', frames },
    more.topic ?? 'mail_digest',
  )

const base = of('    at send (/app/src/mail.ts:10:5)\n    at run (/app/src/run.ts:1:1)')

describe('one fault keeps one fingerprint', () => {
  it.each([
    ['on another line', 'at send (/app/src/mail.ts:99:1)'],
    ['with another caller', 'at send (/app/src/mail.ts:10:5)\nat other (/app/src/other.ts:1:1)'],
    ['in another release', 'at send (/app/releases/20260108/src/mail.ts:10:5)'],
    ["in a developer's folder that is named src too", 'at send (/home/me/src/shop/src/mail.ts:10:5)'],
    ['as a module URL', 'at send (file:///app/src/mail.ts:10:5)'],
    ['with the query of a dev server', 'at send (file:///app/src/mail.ts?t=1700000:10:5)'],
    ['with a path that is relative', 'at send (src/mail.ts:10:5)'],
    ['on Windows', 'at send (C:\\app\\src\\mail.ts:10:5)'],
    ['as a module URL on Windows', 'at send (file:///C:/app/src/mail.ts:10:5)'],
    ['after an await', 'at async send (/app/src/mail.ts:10:5)'],
    ['called as a method', 'at Object.send [as mail_digest] (/app/src/mail.ts:10:5)'],
    ['in Hermes', 'at send (address at /app/src/mail.ts:1:99)'],
    ['in JavaScriptCore', 'send@/app/src/mail.ts:10:5'],
    ['without a column', 'at send (/app/src/mail.ts:10)'],
    [
      'below frames of Node, of libraries and of Oncue',
      [
        'at JSON.parse (<anonymous>)',
        'at new Promise (<anonymous>)',
        'at eval (eval at compile (/app/src/x.ts:1:1), <anonymous>:1:1)',
        'at node:internal/process/task_queues:95:5',
        'at Socket.emit (node:events:518:28)',
        'at fetch (/app/node_modules/.pnpm/undici@7/node_modules/undici/index.js:1:1)',
        'at fetch (C:\\app\\node_modules\\undici\\index.js:1:1)',
        'at execute (/opt/@oncue/worker/dist/executor.js:1:1)',
        'at async Promise.all (index 0)',
        'forEach@[native code]',
        'at send (/app/src/mail.ts:10:5)',
      ].join('\n'),
    ],
  ])('%s', (_, frames) => {
    expect(of(frames)).toBe(base)
  })

  it('whatever its message says', () => {
    expect(of('at send (/app/src/mail.ts:1:1)', { message: 'user 7 not found' })).toBe(base)
  })
})

describe('another fault has another fingerprint', () => {
  const frames = 'at send (/app/src/mail.ts:10:5)'

  it.each([
    ['in a renamed function', of('at deliver (/app/src/mail.ts:10:5)')],
    ['in another file', of('at send (/app/src/sms.ts:10:5)')],
    ['in another folder', of('at send (/app/src/jobs/mail.ts:10:5)')],
    ['in a nameless function', of('at /app/src/mail.ts:10:5')],
    ['of another class', of(frames, { class: 'RangeError' })],
    ['with another code', of(frames, { code: 'ECONNREFUSED' })],
    ['of another topic', of(frames, { topic: 'sms' })],
    ['without frames', of('')],
  ])('%s', (_, other) => {
    expect(other).not.toBe(base)
  })
})

describe('without a frame of its own a fault is known by its message', () => {
  it('without its numbers and ids', () => {
    const message = (text: string) => of('at Socket.emit (node:events:518:28)', { message: text })
    expect(message('row 17 of 0f8fad5b-d9cb is locked')).toBe(message('row 4 of 7c9e6679-7425 is locked'))
    expect(message('connection refused')).not.toBe(message('connection reset'))
  })
})

it('and never changes: stored fingerprints are compared with new ones', () => {
  expect(base).toBe('b29bd9f8440c5574')
})
