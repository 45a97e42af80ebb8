import { format } from 'node:util'
import { configure } from '@testing-library/react-native'

configure({ asyncUtilTimeout: 20_000 })

jest.mock('@react-native-async-storage/async-storage', () =>
  require('@react-native-async-storage/async-storage/jest/async-storage-mock'),
)

// Tests report a lost network themselves.
jest.mock('expo-network', () => ({ addNetworkStateListener: () => ({ remove: () => {} }) }))

// A phone that allows notifications; only tests press one.
jest.mock('expo-notifications', () => ({
  ...{
    AndroidImportance: { MAX: 7 },
    setNotificationHandler: jest.fn(),
    clearLastNotificationResponse: jest.fn(),
  },
  setNotificationChannelAsync: jest.fn(async () => null),
  setNotificationCategoryAsync: jest.fn(async () => null),
  getPermissionsAsync: jest.fn(async () => ({ granted: true })),
  requestPermissionsAsync: jest.fn(async () => ({ granted: true })),
  getExpoPushTokenAsync: jest.fn(async () => ({ data: 'ExponentPushToken[test]' })),
  useLastNotificationResponse: jest.fn(() => null),
}))

/** Console output fails a test. */
const said: string[] = []

beforeEach(() => {
  for (const method of ['debug', 'error', 'info', 'log', 'warn'] as const)
    jest.spyOn(globalThis.console, method).mockImplementation((...args: unknown[]) => {
      const text = format(...args)
      // Updates from a stream cannot be wrapped in act(); tests wait for what they expect.
      if (!text.includes('not wrapped in act')) said.push(`${method}: ${text}`)
    })
})

afterEach(() => {
  const heard = said.splice(0)
  if (heard.length > 0) throw new Error(`The test wrote to the console:\n${heard.join('\n')}`)
})
