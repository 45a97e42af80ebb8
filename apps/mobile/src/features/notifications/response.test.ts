import { describe, expect, it } from 'vitest'
import { readResponse, senderOf } from './response.ts'

const ID = '0199a000-0000-7000-8000-000000000001'

describe('what was pressed on a notification', () => {
  it.each(['ack', 'snooze', 'open'] as const)('%s acts on the alert that it names', (action) => {
    expect(readResponse(action, { path: `/alerts/${ID}` })).toEqual({
      ...{ action, path: `/alerts/${ID}`, alertId: ID, url: null },
    })
  })

  it('the notification itself opens its alert', () => {
    expect(
      readResponse('expo.modules.notifications.actions.DEFAULT', { path: `/alerts/${ID}` }),
    ).toMatchObject({
      action: 'open',
      alertId: ID,
    })
  })

  it('a test opens the list', () => {
    expect(readResponse('open', { path: '/alerts' })).toMatchObject({ path: '/alerts', alertId: null })
  })

  it.each([{ path: '/settings' }, { path: '//evil.example' }, { path: 7 }, null, undefined])(
    'leads nowhere else: %j',
    (data) => {
      expect(readResponse('ack', data)).toEqual({ action: 'open', path: '/alerts', alertId: null, url: null })
    },
  )
})

describe('who sent it', () => {
  const server = (url: string) => ({ id: url, url, name: url })
  const servers = [server('https://a.example'), server('https://a.example.org')]

  it('is the server whose address the link begins with', () => {
    expect(senderOf(servers, `https://a.example.org/alerts/${ID}`)).toBe(servers[1])
    expect(senderOf(servers, 'https://a.example')).toBe(servers[0])
  })

  it('is unknown without a link, or with one to another server', () => {
    expect(senderOf(servers, null)).toBeUndefined()
    expect(senderOf(servers, 'https://b.example/alerts')).toBeUndefined()
  })
})
