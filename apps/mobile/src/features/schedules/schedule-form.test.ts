import { OncueError } from '@oncue/sdk'
import { describe, expect, it } from 'vitest'
import { fieldOf, readSchedule } from './schedule-form.ts'

const TYPED = {
  ...{ name: ' nightly ', cron: '0  9 * * *', timezone: 'UTC', topic: 'mail_digest' },
  ...{ payload: '{"a":1}', missed: 'skip' as const },
}

describe('readSchedule', () => {
  it('reads what was typed', () => {
    expect(readSchedule(TYPED, [])).toEqual({
      ok: true,
      schedule: { ...TYPED, name: 'nightly', cron: '0 9 * * *', payload: { a: 1 } },
    })
  })

  it('takes an empty payload as an empty object, as the command does', () => {
    expect(readSchedule({ ...TYPED, payload: ' ' }, [])).toMatchObject({ schedule: { payload: {} } })
  })

  it.each([
    [{ name: '' }, 'name'],
    [{ name: 'hourly' }, 'name'],
    [{ cron: ' ' }, 'cron'],
    [{ timezone: '' }, 'timezone'],
    [{ topic: '' }, 'topic'],
    [{ payload: '{' }, 'payload'],
  ])('refuses %j because of %s', (differs, field) => {
    const checked = readSchedule({ ...TYPED, ...differs }, ['hourly'])
    expect(checked.ok ? [] : Object.keys(checked.errors)).toEqual([field])
  })
})

it.each([
  [new OncueError('INVALID_CRON', 'cron "x" must have five or six fields'), 'cron'],
  [new OncueError('INVALID_CRON', 'timezone "Mars" is not a known time zone'), 'timezone'],
  [new OncueError('INVALID_PAYLOAD', 'payload.userId: is missing (schema of a)'), 'payload'],
  [new OncueError('INVALID_INPUT', 'input.name: must not be empty'), 'name'],
  [new OncueError('TOPIC_NOT_ALLOWED', 'This token may not enqueue a'), 'topic'],
  [new OncueError('FORBIDDEN', 'Your role is viewer'), null],
  [new Error('cron'), null],
])('shows %s at the field %s', (error, field) => expect(fieldOf(error)).toBe(field))
