import { OncueError } from '@oncue/sdk'
import { fireEvent } from 'expo-router/testing-library'
import { healthOf, NOW, queueOf } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'

const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

describe('Queues', () => {
  it('says of each how it is, in one sentence', async () => {
    const mail = queueOf('mail', {
      ...{ state: 'late', waiting: 1_204, running: 10, capacity: 20, failedLastHour: 14 },
      oldestWaiting: minutesAgo(12),
    })
    const { screen } = await renderApp('/queues', {
      answers: { 'health.get': () => healthOf({ queues: [mail] }) },
    })
    const row = /^mail, Late, 1.204.waiting · 10\/20.running · 14.gave.up.in.1.h, oldest waits 12.min/
    expect(await screen.findByLabelText(row)).toBeVisible()
  })

  it('explains the empty list before the first queue', async () => {
    const { screen } = await renderApp('/queues', {
      answers: { 'health.get': () => healthOf({ queues: [] }) },
    })
    expect(await screen.findByText('No queues yet')).toBeVisible()
    expect(screen.getByText(/with its first job, or once it is paused or limited/)).toBeVisible()
  })

  it('says what is wrong when the API does not answer, and tries again', async () => {
    let isDown = true
    const { screen } = await renderApp('/queues', {
      answers: {
        'health.get': () => {
          if (isDown) throw new OncueError('DATABASE_UNAVAILABLE', 'down')
          return healthOf()
        },
        'health.watch': () => {
          throw new OncueError('DATABASE_UNAVAILABLE', 'down')
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Retry'))
    isDown = false
    fireEvent.press(await screen.findByLabelText('Retry'))
    expect(await screen.findByLabelText(/^mail, Fine/)).toBeVisible()
  })

  it('pauses at once, and resumes by Undo', async () => {
    const done: string[] = []
    const { screen } = await renderApp('/queues', {
      answers: {
        'queues.pause': ({ queue }) => {
          done.push(`pause ${queue}`)
          return null
        },
        'queues.resume': ({ queue }) => {
          done.push(`resume ${queue}`)
          return null
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Pause mail'))
    expect(await screen.findByText('“mail” paused')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Undo'))
    expect(await screen.findByText('“mail” resumed')).toBeVisible()
    expect(done).toEqual(['pause mail', 'resume mail'])
  })

  it('shows a viewer what they may not do, and why', async () => {
    const { screen } = await renderApp('/queues', { role: 'viewer' })
    fireEvent.press(await screen.findByLabelText('Pause mail'))
    expect(await screen.findByText(/You are a viewer/)).toBeVisible()
  })

  it('says by whom and for how long a queue is paused', async () => {
    const queues = [
      queueOf('mail', { state: 'paused', paused: { at: minutesAgo(120), by: 'anna', until: null } }),
    ]
    const { screen } = await renderApp('/queues', { answers: { 'health.get': () => healthOf({ queues }) } })
    expect(await screen.findByText(/by anna, 2.h/)).toBeVisible()
    expect(screen.getByLabelText('Resume mail')).toBeVisible()
  })

  it('keeps rows in place when one turns bad, and sorts on request', async () => {
    let queues = [queueOf('default'), queueOf('mail')]
    const { screen } = await renderApp('/queues', {
      answers: { 'health.get': () => healthOf({ queues }), 'queues.pause': () => null },
    })
    const order = () =>
      screen.getAllByLabelText(/^(default|mail), /).map(({ props }) => props.accessibilityLabel)
    expect((await screen.findAllByLabelText(/^(default|mail), /)).length).toBe(2)
    queues = [queueOf('mail', { state: 'late' }), queueOf('default')]
    // Every action fetches the queues again.
    fireEvent.press(screen.getByLabelText('Pause default'))
    await screen.findByLabelText(/^mail, Late/)
    expect(order()[1]).toMatch(/^mail/)
    fireEvent.press(screen.getByLabelText('Problems below – tap to sort'))
    expect(order()[0]).toMatch(/^mail/)
  })

  it('opens a queue whatever its name', async () => {
    const queues = [queueOf('eu/billing.v2')]
    const answers = { 'health.get': () => healthOf({ queues }) }
    const { screen } = await renderApp('/queues', { answers })
    fireEvent.press(await screen.findByLabelText(/^eu\/billing.v2, Fine/))
    expect(await screen.findByRole('heading', { name: 'eu/billing.v2' })).toBeVisible()
    expect(screen.getByLabelText('Pause')).toBeVisible()
  })

  it('opens a link to a queue whatever its name', async () => {
    const queues = [queueOf('eu/billing.v2')]
    const { screen } = await renderApp('/queues/eu%2Fbilling.v2', {
      answers: { 'health.get': () => healthOf({ queues }) },
    })
    expect(await screen.findByRole('heading', { name: 'eu/billing.v2' })).toBeVisible()
    expect(await screen.findByLabelText('Pause')).toBeVisible()
  })
})
