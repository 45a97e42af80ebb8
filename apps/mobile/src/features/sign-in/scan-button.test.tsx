import { CameraView } from 'expo-camera'
import { act, fireEvent } from 'expo-router/testing-library'
import { renderApp } from '../../testing/render-app.tsx'

// A camera that is allowed, and sees what a test shows it.
jest.mock('expo-camera', () => ({
  CameraView: jest.fn(() => null),
  useCameraPermissions: () => [{ granted: true }, jest.fn()],
}))

const show = (data: string) =>
  act(() => jest.mocked(CameraView).mock.lastCall?.[0].onBarcodeScanned?.({ data } as never))

describe('A scanned code', () => {
  it('that hides where it leads is named a trap, and the next one can be scanned', async () => {
    const { app, screen } = await renderApp('/sign-in', { isSignedOut: true })
    fireEvent.press(await screen.findByLabelText('Scan a pairing code'))
    show('https://good.example@evil.example/pair?code=ABC-DEF-GHJ')
    expect(screen.getByText('This link hides where it leads (…@…). Do not use it.')).toBeVisible()
    expect(app.getPathname()).toBe('/sign-in')
    show('https://oncue.example.com/pair?code=ABC-DEF-GHJ')
    expect(await screen.findByText('https://oncue.example.com')).toBeVisible()
    expect(app.getPathname()).toBe('/pair')
  })

  it('of another kind is ignored', async () => {
    const { screen } = await renderApp('/sign-in', { isSignedOut: true })
    fireEvent.press(await screen.findByLabelText('Scan a pairing code'))
    show('mailto:ada@example.com')
    expect(screen.queryByText(/Do not use it/)).toBeNull()
  })
})
