import { expect, it } from 'vitest'
import { payloadField } from '../topics/schema.ts'
import { checkPayload } from './check-payload.ts'

const SCHEMA = payloadField({
  type: 'object',
  properties: {
    amount: { type: 'integer' },
    currency: { enum: ['EUR', 'USD'] },
    note: { type: ['string', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
    user: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
  required: ['amount'],
})

const faultsOf = (text: string) =>
  checkPayload(text, SCHEMA).faults.map(({ path, text }) => `${path} ${text}`)

it('takes what fits, also fields that the form does not know', () => {
  const text = '{"amount":1,"currency":"EUR","note":null,"tags":["a"],"user":{"name":"Ada"},"more":[1]}'
  expect(checkPayload(text, SCHEMA)).toEqual({ value: JSON.parse(text), faults: [] })
})

it.each([
  ['{"amount":1,}', /^null This is not valid JSON\./],
  ['', /^null This is not valid JSON\./],
])('says that %j is no JSON', (text, fault) => {
  expect(faultsOf(text)).toEqual([expect.stringMatching(fault)])
})

it.each([
  ['{}', ['payload.amount is missing']],
  ['7', ['payload must be an object']],
  ['{"amount":"1"}', ['payload.amount must be a number']],
  ['{"amount":1.5,"note":3}', ['payload.amount must be a whole number', 'payload.note must be a text']],
  ['{"amount":1,"currency":"GBP"}', ['payload.currency must be one of "EUR", "USD"']],
  [
    '{"amount":1,"tags":["a",2],"user":{}}',
    ['payload.tags must be a list of texts', 'payload.user.name is missing'],
  ],
  ['{"amount":1,"ids":[9007199254740993]}', ['payload.ids[0] is too large to be exact: write it as a text']],
])('says at each field what is wrong with %s', (text, faults) => {
  expect(faultsOf(text)).toEqual(faults)
})
