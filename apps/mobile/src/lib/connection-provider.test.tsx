import { act } from 'expo-router/testing-library'
import { healthOf } from '../testing/health.ts'
import { jobOf } from '../testing/job.ts'
import { offline, renderApp } from '../testing/render-app.tsx'

type Listener = (state: { isConnected: boolean }) => void

const mockListeners = new Set<Listener>()

jest.mock('expo-network', () => ({
  addNetworkStateListener(listener: Listener) {
    mockListeners.add(listener)
    return { remove: () => mockListeners.delete(listener) }
  },
}))

const device = (isConnected: boolean) =>
  act(async () => {
    for (const listener of mockListeners) listener({ isConnected })
  })

describe('a network that the device loses', () => {
  it('is reported, and failed requests are repeated as soon as it is back', async () => {
    let isUp = true
    let asked = 0
    const job = jobOf({ status: 'completed' })
    const { screen } = await renderApp(`/jobs/${job.id}`, {
      answers: {
        'jobs.get': () => (asked++ === 0 || !isUp ? offline() : job),
        'health.get': () => (isUp ? healthOf() : offline()),
        'health.watch': () => (isUp ? watch() : offline()),
      },
    })
    expect(await screen.findByText('Live')).toBeVisible()
    expect(await screen.findByText('The server is not responding')).toBeVisible()
    isUp = false
    await device(false)
    const words = await screen.findByText(/^Offline, data from \d/)
    expect(words.props.numberOfLines).toBeUndefined()
    isUp = true
    await device(true)
    expect(await screen.findByText('Live')).toBeVisible()
    expect(await screen.findByText(job.topic)).toBeVisible()
    expect(screen.queryByText('The server is not responding')).toBeNull()
  })
})

async function* watch() {
  yield healthOf()
  await new Promise<never>(() => {})
}
