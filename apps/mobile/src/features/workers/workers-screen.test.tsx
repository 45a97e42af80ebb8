import { workerOf } from '../../testing/admin.ts'
import { minutesAgo } from '../../testing/alerts.ts'
import { offline, renderApp } from '../../testing/render-app.tsx'

describe('Workers', () => {
  it('shows what each worker runs, with missing workers first', async () => {
    const { screen } = await renderApp('/workers', {
      role: 'viewer',
      answers: {
        'workers.list': () => [workerOf('a1'), workerOf('b2', { missingSince: minutesAgo(2), running: 0 })],
      },
    })
    expect(await screen.findByText(/1 alive, 1 missing · 3 of 10.slots in use/)).toBeVisible()
    const [first, second] = screen.getAllByLabelText(/, process 4711,/)
    expect(first).toHaveAccessibleName(/^b2, process 4711, missing for .*, 0 of 10 slots in use/)
    expect(second).toHaveAccessibleName(
      /^a1, process 4711, alive, 3 of 10 slots in use, queues default, mail/,
    )
  })

  it('says when several versions run side by side', async () => {
    const { screen } = await renderApp('/workers', {
      answers: { 'workers.list': () => [workerOf('a1'), workerOf('b2', { version: '1.3.0' })] },
    })
    expect(await screen.findByText('2 versions run side by side')).toBeVisible()
  })

  it('says how to start one when there is none', async () => {
    const { screen } = await renderApp('/workers', { answers: { 'workers.list': () => [] } })
    expect(await screen.findByText('No workers')).toBeVisible()
  })

  it('says that the server does not answer', async () => {
    const { screen } = await renderApp('/workers', { answers: { 'workers.list': offline } })
    expect(await screen.findByText('The server is not responding')).toBeVisible()
  })
})
