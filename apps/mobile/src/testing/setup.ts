import { format } from 'node:util'
import { configure } from '@testing-library/react-native'

configure({ asyncUtilTimeout: 20_000 })

jest.mock('@react-native-async-storage/async-storage', () =>
  require('@react-native-async-storage/async-storage/jest/async-storage-mock'),
)

// A test says by itself when the network is gone.
jest.mock('expo-network', () => ({ addNetworkStateListener: () => ({ remove: () => {} }) }))

/** What a test lets out to the console fails it, as everywhere here. */
const said: string[] = []

beforeEach(() => {
  for (const method of ['debug', 'error', 'info', 'log', 'warn'] as const)
    jest.spyOn(globalThis.console, method).mockImplementation((...args: unknown[]) => {
      const text = format(...args)
      // What comes by itself, as from a stream, cannot be wrapped; tests wait for what they expect.
      if (!text.includes('not wrapped in act')) said.push(`${method}: ${text}`)
    })
})

afterEach(() => {
  const heard = said.splice(0)
  if (heard.length > 0) throw new Error(`The test wrote to the console:\n${heard.join('\n')}`)
})
