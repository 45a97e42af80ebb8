import { formatPath } from '@oncue/core/internal'
import { expect, it } from 'vitest'
import { createMask, maskNothing } from './masking.ts'
import { showEvent } from './payload-changes.ts'

const mask = createMask(['secret'])

const shown = (path: readonly (string | number)[]) => {
  const event = { type: 'payload_changed', data: { by: 'ada', paths: [formatPath('payload', path)] } }
  return showEvent(mask, event).data.paths[0]
}

it.each([
  ['payload', []],
  ['payload.user.name', ['user', 'name']],
  ['payload.items[3].name', ['items', 3, 'name']],
  ['payload["a.b"][0]', ['a.b', 0]],
  ['payload.secret', ['secret']],
  ['payload.secret', ['secret', 'key']],
  ['payload[0].clientSecret', [0, 'clientSecret', 'key', 1]],
  [String.raw`payload["my \"secret\""]`, ['my "secret"', 'key']],
  // Left out, or cut short: a masked key may be among them.
  ['payload.a.…', ['a', '…']],
  [`payload${'.k'.repeat(10)}.…`, Array.from({ length: 30 }, () => 'k')],
  ['payload.…', ['x y'.repeat(30), 'key']],
] as const)('a path is shown as %s', (expected, path) => {
  expect(shown(path)).toBe(expected)
})

it('names each path once, and leaves alone what is no path', () => {
  const data = { paths: ['payload.secret.a', 'payload.secret.b', 'other', 7] }
  expect(showEvent(mask, { type: 'payload_changed', data }).data.paths).toEqual([
    'payload.secret',
    'other',
    7,
  ])
  for (const event of [
    { type: 'progress', data },
    { type: 'payload_changed', data: null },
    { type: 'payload_changed', data: { paths: 'payload.secret.a' } },
  ])
    expect(showEvent(mask, event)).toBe(event)
  const event = { type: 'payload_changed', data }
  expect(showEvent(maskNothing, event)).toBe(event)
})
