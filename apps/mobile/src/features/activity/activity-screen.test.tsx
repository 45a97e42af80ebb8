import { fireEvent } from 'expo-router/testing-library'
import { entryOf } from '../../testing/admin.ts'
import { offline, renderApp } from '../../testing/render-app.tsx'

const page = (...items: ReturnType<typeof entryOf>[]) => ({ items, nextCursor: null })

describe('Activity', () => {
  it('says who did what, from where', async () => {
    const { screen } = await renderApp('/activity', { answers: { 'audit.list': () => page(entryOf('1')) } })
    expect(await screen.findByLabelText(/^ada paused mail, from a paired device, /)).toBeVisible()
  })

  it('names in each row the action, its target, the number of jobs and the actor', async () => {
    const entry = entryOf('1', {
      action: 'bulkOperations.run',
      actor: { id: 'd1', name: 'The phone of Ada', kind: 'device' },
      target: { id: 'o1', action: 'requeue', filter: { status: 'failed', queue: 'mail' }, spreadSeconds: 0 },
      count: 312,
    })
    const { screen } = await renderApp('/activity', { answers: { 'audit.list': () => page(entry) } })
    expect(await screen.findByText(/^Started retrying 312.jobs$/)).toBeVisible()
    expect(screen.getByText('failed jobs in “mail”')).toBeVisible()
    expect(screen.getByText('by The phone of Ada, from a paired device')).toBeVisible()
  })

  it('is filtered by subject, and says when nothing matches', async () => {
    const { screen } = await renderApp('/activity', {
      answers: { 'audit.list': (input) => (input?.action === 'alerts.*' ? page() : page(entryOf('1'))) },
    })
    await screen.findByLabelText(/^ada paused mail/)
    fireEvent.press(screen.getByRole('button', { name: 'Alerts' }))
    expect(await screen.findByText('Nothing matches')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Clear filter'))
    expect(await screen.findByLabelText(/^ada paused mail/)).toBeVisible()
  })

  it("shows all fields of an entry, and leads to the actor's other entries", async () => {
    const asked: unknown[] = []
    const { screen } = await renderApp('/activity', {
      answers: {
        'audit.list': (input) => {
          asked.push(input?.actorId)
          return page(entryOf('1'))
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^ada paused mail/))
    expect(await screen.findByText('10.0.0.7')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Show only activity by ada'))
    expect(await screen.findByLabelText('Remove filter By ada')).toBeVisible()
    expect(asked.at(-1)).toBe('u1')
  })

  it('says from which address a sign-in was rejected, and why', async () => {
    const entry = entryOf('1', {
      ...{ action: 'session.refused', actor: { id: '', name: 'anonymous', kind: 'anonymous' } },
      ...{ target: { reason: 'UNAUTHORIZED' }, count: 0 },
    })
    const { screen } = await renderApp('/activity', { answers: { 'audit.list': () => page(entry) } })
    const row = await screen.findByLabelText(/^anonymous failed to sign in, from 10\.0\.0\.7, /)
    expect(screen.getByText('by anonymous, from 10.0.0.7')).toBeVisible()
    fireEvent.press(row)
    expect(await screen.findByText('The token is wrong, expired or revoked')).toBeVisible()
    expect(screen.queryByText('How many')).toBeNull()
    expect(screen.queryByText(/UNAUTHORIZED/)).toBeNull()
  })

  it('loads older pages', async () => {
    const { screen } = await renderApp('/activity', {
      answers: {
        'audit.list': (input) =>
          input?.cursor === 'next'
            ? page(entryOf('2', { action: 'queues.resume' }))
            : { items: [entryOf('1')], nextCursor: 'next' },
      },
    })
    fireEvent(await screen.findByLabelText(/^ada paused mail/), 'endReached')
    expect(await screen.findByLabelText(/^ada resumed mail/)).toBeVisible()
  })

  it('explains to a viewer why it is empty, and sends no request', async () => {
    const { screen } = await renderApp('/activity', {
      role: 'viewer',
      answers: {
        'audit.list': () => {
          throw new Error('must not be asked')
        },
      },
    })
    expect(await screen.findByText('No access')).toBeVisible()
    expect(screen.getByText(/Your role is viewer/)).toBeVisible()
  })

  it('says that the server does not answer', async () => {
    const { screen } = await renderApp('/activity', { answers: { 'audit.list': offline } })
    expect(await screen.findByText('The server is not responding')).toBeVisible()
  })
})
