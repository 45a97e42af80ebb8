import { DEFAULT_SETTINGS } from '@oncue/core/wire'
import { describe, expect, it } from 'vitest'
import { createMask, maskNothing } from './masking.ts'

const mask = createMask(DEFAULT_SETTINGS.maskedKeys)
const isMasked = (key: string, keys = DEFAULT_SETTINGS.maskedKeys) =>
  createMask(keys)({ payload: { [key]: 'x' } }, ['payload']).masked.length > 0

describe('a mask', () => {
  it('hides the values of matching keys at any depth, and says where', () => {
    const job = {
      topic: 'mail',
      payload: { user: { name: 'Ada', password: 'hunter2' }, list: [{ ok: 1 }, { apiKey: { id: 7 } }] },
      result: { 'x-api-key': 12 },
    }
    expect(mask(job, ['payload', 'result'])).toEqual({
      value: {
        topic: 'mail',
        payload: { user: { name: 'Ada', password: '[masked]' }, list: [{ ok: 1 }, { apiKey: '[masked]' }] },
        result: { 'x-api-key': '[masked]' },
      },
      copied: [],
      masked: ['payload.user.password', 'payload.list[1].apiKey', 'result["x-api-key"]'],
    })
  })

  it('finds where a caller sent back the mask itself', () => {
    const payload = { user: { password: '[masked]', token: 'x' }, note: '[masked]', list: ['[masked]'] }
    expect(mask({ payload }, ['payload'])).toMatchObject({
      masked: ['payload.user.token'],
      copied: ['payload.user.password'],
    })
  })

  it('does not change its input', () => {
    const payload = { user: { password: 'hunter2' } }
    mask({ payload }, ['payload'])
    expect(payload).toEqual({ user: { password: 'hunter2' } })
  })

  it('copies only what it changes', () => {
    const payload = { list: [{ a: 1 }], when: new Date(0) }
    expect(mask({ payload }, ['payload']).value.payload).toBe(payload)
  })

  it('leaves dates, and other fields, as they are', () => {
    const created = new Date(0)
    const events = [{ created, data: { token: 'x' } }]
    expect(mask({ token: 'y', events }, ['events'])).toEqual({
      value: { token: 'y', events: [{ created, data: { token: '[masked]' } }] },
      copied: [],
      masked: ['events[0].data.token'],
    })
  })

  it('keeps values that reveal nothing', () => {
    const payload = { password: null, token_expired: true }
    expect(mask({ payload }, ['payload'])).toEqual({ value: { payload }, copied: [], masked: [] })
  })

  it.each([null, undefined, 'password', 7, []])('leaves %o alone', (payload) => {
    expect(mask({ payload }, ['payload'])).toEqual({ value: { payload }, copied: [], masked: [] })
  })

  it('masks inside a field whatever the name of that field', () => {
    expect(mask({ meta: { token: 'x', agent: 'a1' } }, ['meta']).value).toEqual({
      meta: { token: '[masked]', agent: 'a1' },
    })
  })

  it('keeps a key like __proto__ a key', () => {
    const payload = JSON.parse('{"__proto__": {"admin": true, "secret": "x"}}')
    const { value } = mask({ payload }, ['payload'])
    expect(JSON.stringify(value)).toBe('{"payload":{"__proto__":{"admin":true,"secret":"[masked]"}}}')
    expect({}).not.toHaveProperty('admin')
  })

  it('names a thousand paths, and masks the others as well', () => {
    const payload = Array.from({ length: 1_500 }, () => ({ token: 'x' }))
    const { value, masked } = mask({ payload }, ['payload'])
    expect(masked).toHaveLength(1_000)
    expect(value.payload.every(({ token }) => token === '[masked]')).toBe(true)
  })

  it('hides nothing from admins', () => {
    const job = { payload: { password: 'hunter2' } }
    expect(maskNothing(job, ['payload'])).toEqual({ value: job, copied: [], masked: [] })
  })
})

describe('a key', () => {
  it.each([
    'password',
    'PASSWORD',
    'userPassword',
    'user_password',
    'password-hash',
    'password2',
    'apiKey',
    'APIKey',
    'apikey',
    'stripe_apikey',
    'X-Api-Key',
    'accessToken',
    'refresh_token',
    'Authorization',
    'Set-Cookie',
    'creditCard',
    'credit card',
    'clientSecret',
  ])('%s is masked', (key) => {
    expect(isMasked(key)).toBe(true)
  })

  it.each([
    'max_tokens',
    'tokenizer',
    'passwordless',
    'keyboard',
    'apiary',
    'secretary',
    'author',
    'api',
    'card',
  ])('%s is not', (key) => {
    expect(isMasked(key)).toBe(false)
  })

  it('may be in any language', () => {
    expect(isMasked('用户_密码', ['密码'])).toBe(true)
    expect(isMasked('contraseñaNueva', ['contraseña'])).toBe(true)
  })

  it('is never masked when nothing is set', () => {
    expect(isMasked('password', [])).toBe(false)
  })
})
