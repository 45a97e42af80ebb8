import { fireEvent, render, screen } from '@testing-library/react-native'
import { Text } from '../ui/text.tsx'
import { CrashGuard } from './crash-guard.tsx'

let isBroken = true
function Screen() {
  if (isBroken) throw new Error('no such field')
  return <Text>fine</Text>
}

it('a screen that crashes leaves the rest of the app alone, and is rendered again on request', () => {
  // React logs every error that a boundary catches.
  jest.spyOn(globalThis.console, 'error').mockImplementation(() => {})
  render(
    <CrashGuard>
      <Screen />
    </CrashGuard>,
  )
  expect(screen.getByText('no such field')).toBeVisible()
  isBroken = false
  fireEvent.press(screen.getByLabelText('Retry'))
  expect(screen.getByText('fine')).toBeVisible()
})
