import { expect, it } from 'vitest'
import { changesOf, textOf, type Values } from './settings-form.ts'

const VALUES: Values = {
  operatorsEditPayloads: false,
  ...{ httpEnabled: true, enqueueRule: 'producer', manageRule: 'viewer', payloadValidation: 'reject' },
  ...{ allowedTopics: null, allowedQueues: [], maskedKeys: ['password'], deviceIdleDays: 90 },
}
const TEXT = textOf(VALUES)

it('sends nothing when nothing was changed', () => expect(changesOf(VALUES, TEXT)).toEqual({}))

it('sends only what was changed', () => {
  const typed = { ...TEXT, allowedTopics: 'mail_*\nsms', deviceIdleDays: '30', httpEnabled: false }
  expect(changesOf(VALUES, typed)).toEqual({
    ...{ allowedTopics: ['mail_*', 'sms'], deviceIdleDays: 30, httpEnabled: false },
  })
})

it.each(['', 'many', '0', '1.5'])('refuses %j as a number of days', (deviceIdleDays) => {
  expect(changesOf(VALUES, { ...TEXT, deviceIdleDays })).toBeNull()
})
