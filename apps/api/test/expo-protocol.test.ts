import { expect, it, vi } from 'vitest'
import { FakeExpo } from './fake-expo.ts'

const messages = Array.from({ length: 3 }, (_, n) => ({
  ...{ to: `ExponentPushToken[${n}]`, title: 'Alert', body: 'mail: late', data: { path: '/alerts/1' } },
  ...{ sound: 'default', priority: 'high' as const, channelId: 'alerts', categoryId: 'alert' },
}))

it("our Expo client sends the same requests and reads the same responses as Expo's own", async () => {
  const expo = await FakeExpo.listen()
  expo.badTickets.set('ExponentPushToken[1]', 'DeviceNotRegistered')
  expo.badReceipts.set('ExponentPushToken[2]', 'MessageRateExceeded')
  // Expo's client reads it when it is imported.
  vi.stubEnv('EXPO_BASE_URL', expo.url)
  const { Expo } = await import('expo-server-sdk')
  const { ExpoService } = await import('../src/delivery/expo.ts')

  const theirs = new Expo({ accessToken: 'secret' })
  const ours = new ExpoService({ url: expo.url, accessToken: 'secret' })
  const { signal } = new AbortController()

  const theirTickets = await theirs.sendPushNotificationsAsync(messages)
  const ourTickets = await ours.send(messages, signal)
  expect(theirTickets).toMatchObject([
    { status: 'ok', id: 'ticket-1' },
    { status: 'error', details: { error: 'DeviceNotRegistered' } },
    { status: 'ok', id: 'ticket-2' },
  ])
  expect(ourTickets).toMatchObject([
    { status: 'ok', id: 'ticket-3' },
    { status: 'error', details: { error: 'DeviceNotRegistered' } },
    { status: 'ok', id: 'ticket-4' },
  ])

  const ids = ['ticket-1', 'ticket-2', 'unknown']
  const receipts = {
    'ticket-1': { status: 'ok' },
    'ticket-2': { status: 'error', details: { error: 'MessageRateExceeded' } },
  }
  const theirReceipts = await theirs.getPushNotificationReceiptsAsync(ids)
  const ourReceipts = await ours.receipts(ids, signal)
  for (const answer of [theirReceipts, ourReceipts]) {
    expect(answer).toMatchObject(receipts)
    expect(Object.keys(answer)).toHaveLength(2)
  }

  expo.refuse = () => ({ status: 400, code: 'PUSH_TOO_MANY_EXPERIENCE_IDS' })
  await expect(theirs.sendPushNotificationsAsync(messages)).rejects.toMatchObject({
    ...{ statusCode: 400, code: 'PUSH_TOO_MANY_EXPERIENCE_IDS' },
  })
  await expect(ours.send(messages, signal)).rejects.toThrow(
    'Expo returned 400 (PUSH_TOO_MANY_EXPERIENCE_IDS)',
  )

  const [theirSend, ourSend, theirAsk, ourAsk] = expo.requests
  expect(ourSend).toEqual(theirSend)
  expect(ourAsk).toEqual(theirAsk)
  expect(ourSend).toMatchObject({ authorization: 'Bearer secret', body: messages })
})
