import { fireEvent } from 'expo-router/testing-library'
import { renderApp } from '../../testing/render-app.tsx'

const at = (url: string) => `/pair?code=ABC-DEF-GHJ&url=${encodeURIComponent(url)}`

describe('A pairing link', () => {
  it('shows the whole address that it leads to before any request is sent', async () => {
    const { screen } = await renderApp(at('https://Oncue.example.com:8443/jobs/'), { isSignedOut: true })
    expect(await screen.findByText('https://oncue.example.com:8443/jobs')).toBeVisible()
    expect(screen.getByText(/^Continue only if you recognise this address/)).toBeVisible()
    expect(screen.getByLabelText('Pair')).toBeEnabled()
  })

  it.each([
    'https://good.example@evil.example',
    'https://evil.example\\good.example',
    'javascript:alert(1)',
    '',
  ])('is refused when it leads to %j', async (url) => {
    const { screen } = await renderApp(at(url), { isSignedOut: true })
    expect(await screen.findByLabelText('Pair')).toBeDisabled()
    expect(screen.queryByText(/good\.example/)).toBeNull()
  })

  it.each(['http://localhost:4400', 'http://127.0.0.1:4400', 'http://[::1]:4400'])(
    'to the device itself is refused with a hint: %s',
    async (url) => {
      const { screen } = await renderApp(at(url), { isSignedOut: true })
      expect(await screen.findByLabelText('Pair')).toBeDisabled()
      expect(
        screen.getByText(/^This address means this device itself\. Use the server’s address/),
      ).toBeVisible()
    },
  )

  it('is not needed where the code is typed', async () => {
    const { app, screen, session } = await renderApp('/', { isSignedOut: true })
    const asked: unknown[] = []
    session.pair = async (...args) => {
      asked.push(args)
      return { ok: false, trouble: 'no-network', detail: '' }
    }
    fireEvent.press(await screen.findByLabelText('Enter a pairing code'))
    expect(app.getPathname()).toBe('/pair')
    expect(await screen.findByLabelText('Pair')).toBeDisabled()
    fireEvent.changeText(screen.getByLabelText('Server'), 'oncue.example.com')
    fireEvent.changeText(screen.getByLabelText('Pairing code'), ' abc def ghj ')
    fireEvent.press(screen.getByLabelText('Pair'))
    expect(asked).toEqual([['https://oncue.example.com', 'abc def ghj', expect.any(String)]])
  })

  it('is named a trap when it hides where it leads', async () => {
    const { screen } = await renderApp(at('https://good.example@evil.example'), { isSignedOut: true })
    expect(await screen.findByText('This link hides where it leads (…@…). Do not use it.')).toBeVisible()
    expect(screen.queryByText(/incomplete/)).toBeNull()
  })
})
