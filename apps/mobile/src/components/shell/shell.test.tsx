import { OncueError } from '@oncue/sdk'
import { act, fireEvent } from 'expo-router/testing-library'
import { healthOf } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'

describe('the shell', () => {
  it('says where one is and that it is live', async () => {
    const { screen } = await renderApp('/')
    expect(await screen.findByText('STAGING')).toBeVisible()
    expect(await screen.findByText('Live')).toBeVisible()
  })

  it('shows how many alerts are firing', async () => {
    const alerts = { firing: 3, acked: 0, snoozed: 0 }
    const { screen } = await renderApp('/', { answers: { 'health.get': () => healthOf({ alerts }) } })
    expect(await screen.findByLabelText('Alerts, 3 firing')).toBeVisible()
  })

  it('leads from tab to tab', async () => {
    const { app, screen } = await renderApp('/')
    fireEvent.press(await screen.findByLabelText('Queues'))
    expect(app.getPathname()).toBe('/queues')
  })

  it('opens a link to a detail, with a way back to its list', async () => {
    const { app, screen } = await renderApp('/queues/mail')
    expect(await screen.findByRole('heading', { name: 'mail' })).toBeVisible()
    fireEvent.press(screen.getByLabelText('Back'))
    expect(app.getPathname()).toBe('/queues')
  })
})

describe('the gate', () => {
  it('shows the sign-in in place of a screen, and the screen once one is signed in', async () => {
    const { app, screen, signIn } = await renderApp('/queues/mail', { isSignedOut: true })
    expect(await screen.findByText('Connect to Oncue')).toBeVisible()
    expect(screen.queryByText('mail')).toBeNull()
    act(signIn)
    expect(await screen.findByRole('heading', { name: 'mail' })).toBeVisible()
    expect(app.getPathname()).toBe('/queues/mail')
  })

  it('comes back when the server knows one no longer', async () => {
    const { screen } = await renderApp('/', {
      answers: {
        'health.get': () => {
          throw new OncueError('UNAUTHORIZED', 'revoked')
        },
        'health.watch': () => {
          throw new OncueError('UNAUTHORIZED', 'revoked')
        },
      },
    })
    expect(await screen.findByText(/Your session has expired/)).toBeVisible()
  })
})
