import { act, fireEvent } from 'expo-router/testing-library'
import { deviceOf, tokenOf } from '../../testing/admin.ts'
import { renderApp } from '../../testing/render-app.tsx'

const pairedBy = (id: string) => deviceOf(`phone of ${id}`, { maker: { id, kind: 'token', name: id } })

describe('Tokens', () => {
  it('are reached from the settings, and say who uses them', async () => {
    const { app, screen } = await renderApp('/settings', {
      answers: { 'devices.list': () => [], 'tokens.list': () => [tokenOf('shop-api')] },
    })
    fireEvent.press(await screen.findByLabelText('Tokens'))
    expect(app.getPathname()).toBe('/tokens')
    expect(await screen.findByLabelText(/^shop-api, producer, used 3.min.ago$/)).toBeVisible()
  })

  it('are created, and their secret is shown once', async () => {
    const wanted: unknown[] = []
    const { screen } = await renderApp('/tokens', {
      answers: {
        'tokens.list': () => [],
        'tokens.create': (input) => {
          wanted.push(input)
          return { ...tokenOf(input.name), secret: 'oncue_secret' }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('New token'))
    fireEvent.press(await screen.findByLabelText('Create'))
    expect(await screen.findByText('Enter who or what uses it.')).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('Name'), 'shop-api')
    fireEvent.press(screen.getByLabelText('Viewer'))
    fireEvent.changeText(screen.getByLabelText('Topics it may enqueue'), 'mail_*')
    fireEvent.press(screen.getByLabelText('Create'))
    expect(await screen.findByText('oncue_secret')).toBeVisible()
    expect(screen.getByLabelText('Copy the secret')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Done'))
    expect(screen.queryByText('oncue_secret')).toBeNull()
    expect(wanted).toMatchObject([
      { name: 'shop-api', role: 'viewer', allowedTopics: ['mail_*'], expiresAt: null },
    ])
  })

  it('without devices are listed and revoked, too', async () => {
    const revoked: unknown[] = []
    const { screen } = await renderApp('/tokens', {
      answers: {
        'tokens.list': () => [tokenOf('shop-api', { id: 'lonely' })],
        'devices.list': () => [pairedBy('another')],
        'tokens.revoke': (input) => {
          revoked.push(input)
          return { devices: 0 }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^shop-api/))
    const button = await screen.findByLabelText('Hold to revoke it')
    fireEvent.press(button)
    await act(() => jest.advanceTimersByTimeAsync(1_100))
    fireEvent.press(button)
    expect(await screen.findByText('“shop-api” revoked')).toBeVisible()
    expect(revoked).toEqual([{ id: 'lonely' }])
  })

  it('are revoked with their devices, by holding', async () => {
    const revoked: unknown[] = []
    const { screen } = await renderApp('/tokens', {
      answers: {
        'tokens.list': () => [tokenOf('shop-api', { id: 'token' })],
        'devices.list': () => [pairedBy('token'), pairedBy('token'), pairedBy('another')],
        'tokens.revoke': (input) => {
          revoked.push(input)
          return { devices: 2 }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^shop-api/))
    expect(await screen.findByText(/^You are signed in with this token/)).toBeVisible()
    const button = await screen.findByLabelText(/^Hold to revoke it and 2.devices$/)
    fireEvent.press(button)
    await act(() => jest.advanceTimersByTimeAsync(1_100))
    fireEvent.press(button)
    expect(await screen.findByText(/^“shop-api” and 2.devices revoked$/)).toBeVisible()
    expect(revoked).toEqual([{ id: 'token' }])
  })

  it('are for admins, and say so', async () => {
    const { screen } = await renderApp('/tokens', { role: 'operator' })
    expect(await screen.findByText('Tokens are visible to admins. Your role is operator.')).toBeVisible()
    expect(screen.getByLabelText('New token')).toBeDisabled()
  })
})
