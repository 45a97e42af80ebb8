import { expect, it } from 'vitest'
import { readToken } from './token-form.ts'

const NOW = Date.UTC(2026, 10, 16)
const TYPED = { name: ' shop ', role: 'producer' as const, topics: '', queues: '', days: '' }

it('reads empty fields as all names and no expiry', () => {
  expect(readToken(TYPED, NOW)).toEqual({
    ok: true,
    token: { name: 'shop', role: 'producer', allowedTopics: null, allowedQueues: null, expiresAt: null },
  })
})

it('reads names one per line, and the expiry in days from now', () => {
  const typed = { ...TYPED, topics: 'mail_*\n\n video, sms', queues: 'mail', days: '30' }
  expect(readToken(typed, NOW)).toMatchObject({
    token: {
      allowedTopics: ['mail_*', 'video', 'sms'],
      allowedQueues: ['mail'],
      expiresAt: new Date(Date.UTC(2026, 11, 16)),
    },
  })
})

it.each([
  [{ name: ' ' }, 'name'],
  [{ days: '0' }, 'days'],
  [{ days: 'a year' }, 'days'],
])('refuses %j because of %s', (differs, field) => {
  const checked = readToken({ ...TYPED, ...differs }, NOW)
  expect(checked.ok ? [] : Object.keys(checked.errors)).toEqual([field])
})
