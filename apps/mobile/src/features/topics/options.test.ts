import { expect, it } from 'vitest'
import { readOptions } from './options.ts'

const NONE = { queue: '', priority: '', delay: '' }

it.each([
  [NONE, {}],
  [
    { queue: ' mail ', priority: '-5', delay: '1.5' },
    { queue: 'mail', priority: -5, delay: 90_000 },
  ],
  [{ ...NONE, delay: '0' }, { delay: 0 }],
])('reads %j', (typed, options) => expect(readOptions(typed)).toEqual({ options, errors: {} }))

it.each([
  [{ ...NONE, priority: 'high' }, 'priority'],
  [{ ...NONE, priority: '40000' }, 'priority'],
  [{ ...NONE, delay: '-1' }, 'delay'],
  [{ ...NONE, delay: 'soon' }, 'delay'],
])('refuses %j because of %s', (typed, field) => {
  const { options, errors } = readOptions(typed)
  expect([options, Object.keys(errors)]).toEqual([null, [field]])
})
