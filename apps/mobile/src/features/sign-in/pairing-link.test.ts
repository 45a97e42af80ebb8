import { expect, it } from 'vitest'
import { isHidingLink, readPairingLink } from './pairing-link.ts'

it.each([
  ['https://oncue.example.com/pair?code=ABCD-1234', { url: 'https://oncue.example.com', code: 'ABCD-1234' }],
  ['http://192.168.1.2:4400/pair?code=x', { url: 'http://192.168.1.2:4400', code: 'x' }],
  ['https://example.com/oncue/pair?code=x', { url: 'https://example.com/oncue', code: 'x' }],
  [
    'oncue://pair?url=https%3A%2F%2Foncue.example.com&code=x',
    { url: 'https://oncue.example.com', code: 'x' },
  ],
])('%s leads to a server, with a code', (text, link) => expect(readPairingLink(text)).toEqual(link))

it.each([
  '',
  'hello',
  'https://oncue.example.com/pair',
  'oncue://pair?code=x',
  'https://user@host/pair?code=x',
  'https://good.example@evil.example/pair?code=x',
  'oncue://pair?url=https%3A%2F%2Fgood.example%40evil.example&code=x',
])('%j is no pairing link', (text) => expect(readPairingLink(text)).toBeUndefined())

it.each([
  ['https://good.example@evil.example/pair?code=x', true],
  ['oncue://pair?url=https%3A%2F%2Fgood.example%40evil.example&code=x', true],
  ['oncue://pair?url=good.example%40evil.example&code=x', true],
  ['https://oncue.example.com/pair?code=x', false],
  ['https://oncue.example.com/@team/pair?code=x', false],
  ['mailto:ada@example.com', false],
])('%j hides where it leads: %j', (text, isHiding) => expect(isHidingLink(text)).toBe(isHiding))
