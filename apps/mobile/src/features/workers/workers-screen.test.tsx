import { OncueError } from '@oncue/sdk'
import { fireEvent, waitFor } from 'expo-router/testing-library'
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

  it('names each worker as its jobs do, by the end of its id', async () => {
    const id = '01900000-0000-7000-8000-0000553caffb'
    const ended = { at: minutesAgo(3), how: 'stopped', released: 0, failed: 0 } as const
    const { screen } = await renderApp('/workers', {
      answers: {
        'workers.list': (input) =>
          input?.ended
            ? [workerOf('a1', { id }), workerOf('c3', { id: id.replace('553', '664'), ended })]
            : [workerOf('a1', { id })],
      },
    })
    expect(await screen.findByText(/^worker …553caffb · process 4711/)).toBeVisible()
    expect(screen.getByLabelText(/^a1, .*, worker …553caffb$/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Show ended'))
    expect(await screen.findByText(/^worker …664caffb · process 4711/)).toBeVisible()
    expect(screen.getByLabelText(/^c3, .*, worker …664caffb$/)).toBeVisible()
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

  it('shows those that ended on request, and what the lost ones held', async () => {
    const lost = { at: minutesAgo(3), how: 'lost', released: 2, failed: 1 } as const
    const { screen } = await renderApp('/workers', {
      answers: {
        'workers.list': (input) =>
          input?.ended ? [workerOf('a1'), workerOf('c3', { ended: lost, running: 0 })] : [workerOf('a1')],
      },
    })
    await screen.findByLabelText(/^a1, /)
    expect(screen.queryByLabelText(/^c3, /)).toBeNull()
    fireEvent.press(screen.getByLabelText('Show ended'))
    expect(
      await screen.findByLabelText(
        /^c3, process 4711, lost .* ago, held 3.jobs: 2 put back, 1 ended, worker c3$/,
      ),
    ).toBeVisible()
    expect(screen.getByText(/1 alive · 3 of 10.slots in use/)).toBeVisible()
  })
})

describe('A worker', () => {
  const details = {
    ...workerOf('w1', { host: 'worker-1' }),
    ...{ service: 'shop', topics: ['mail_digest'], runsAreComplete: true },
  }
  const run = {
    id: '01900000-0000-7000-8000-00000000000a' as never,
    queue: 'mail',
    topic: 'mail_digest',
    run: 2,
  }

  it('lists what runs on it, each a tap away', async () => {
    const { app, screen } = await renderApp('/workers/w1', {
      role: 'viewer',
      answers: {
        'workers.get': () => ({ ...details, runs: [{ ...run, startedAt: minutesAgo(4), outcome: null }] }),
        'jobs.get': () => {
          throw new Error('not looked at here')
        },
      },
    })
    expect(await screen.findByText('worker-1')).toBeVisible()
    expect(screen.getByText('3 of 10 in use')).toBeVisible()
    expect(screen.getByText('Running now')).toBeVisible()
    expect(screen.getByText('shop')).toBeVisible()
    fireEvent.press(screen.getByLabelText(/^Job 0190.*, mail_digest, running$/))
    await waitFor(() => expect(app.getPathname()).toBe(`/jobs/${run.id}`))
  })

  it('is named as its jobs name it, by the end of its id', async () => {
    const id = '01900000-0000-7000-8000-0000553caffb'
    const { screen } = await renderApp(`/workers/${id}`, {
      answers: { 'workers.get': () => ({ ...details, id, runs: [] }) },
    })
    expect(await screen.findByText('…553caffb')).toBeVisible()
  })

  it('that was lost says what it held and what became of it', async () => {
    const ended = { at: minutesAgo(3), how: 'lost', released: 1, failed: 0 } as const
    const { screen } = await renderApp('/workers/w1', {
      answers: {
        'workers.get': () => ({
          ...details,
          ended,
          runs: [{ ...run, startedAt: null, outcome: 'released' }],
        }),
      },
    })
    expect(await screen.findByText('What it held')).toBeVisible()
    expect(screen.getByText('Found dead')).toBeVisible()
    expect(screen.getByLabelText(/^Job 0190.*, mail_digest, put back$/)).toBeVisible()
  })

  it('that was forgotten says for how long they are kept', async () => {
    const { screen } = await renderApp('/workers/w1', {
      answers: {
        'workers.get': () => {
          throw new OncueError('WORKER_NOT_FOUND', 'There is no worker w1')
        },
      },
    })
    expect(await screen.findByText('No such worker')).toBeVisible()
  })
})
