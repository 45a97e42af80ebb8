import { render, screen } from '@testing-library/react-native'
import { Platform, Text } from 'react-native'
import { breakable } from './breakable.ts'

/** With a bar where a browser may break it. */
function drawn(name: string): string {
  render(<Text testID="name">{breakable(name)}</Text>)
  const parts: readonly unknown[] = [screen.getByTestId('name').props.children].flat()
  return parts.map((part) => (typeof part === 'string' ? part : '|')).join('')
}

afterEach(() => {
  jest.restoreAllMocks()
})

it.each([
  ['after a dash, a dot, a slash and an underscore', 'mail_digest/v2.eu-1', 'mail_|digest/|v2.|eu-|1'],
  ['before the capital of a word', 'GatewayTimeoutError', 'Gateway|Timeout|Error'],
  ['not within an abbreviation', 'HTTPError', 'HTTPError'],
  ['nowhere else', 'refund', 'refund'],
])('a browser may break a name %s', (_, name, words) => {
  jest.replaceProperty(Platform, 'OS', 'web')
  expect(drawn(name)).toBe(words)
})

it('a name in several parts has no characters that turn it around', () => {
  jest.replaceProperty(Platform, 'OS', 'web')
  expect(drawn('Type\u202eError')).toBe('Type|Error')
})

it('phones get it whole', () => {
  expect(drawn('GatewayTimeoutError')).toBe('GatewayTimeoutError')
})
