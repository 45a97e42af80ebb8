import { fireEvent } from 'expo-router/testing-library'
import { entryOf } from '../../testing/admin.ts'
import { alertOf } from '../../testing/alerts.ts'
import { healthOf, queueOf } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'

const health = () =>
  healthOf({
    summary: { level: 'bad', text: 'mail failing 14%' },
    queues: [queueOf('mail', { state: 'failing', failureRate: 0.14 })],
  })

describe('the incident summary', () => {
  it('is read and copied from Now, with the actions of each person', async () => {
    const asked: unknown[] = []
    const { screen } = await renderApp('/', {
      role: 'operator',
      answers: {
        'health.get': health,
        'alerts.list': () => ({ items: [alertOf(1, { summary: 'mail: 14% fail' })], nextCursor: null }),
        'audit.list': (input) => {
          asked.push(input?.from instanceof Date)
          return { items: [entryOf('1')], nextCursor: null }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Summary'))
    expect(
      await screen.findByText(
        /mail failing 14%\* [\s\S]*• mail: 14% fail, since [\s\S]*• mail: failing[\s\S]* ada paused mail$/,
      ),
    ).toBeVisible()
    expect(screen.getByLabelText('Copy for Slack')).toBeVisible()
    expect(asked).toEqual([true])
  })

  it('leaves out what a viewer may not read, and says so', async () => {
    const { screen } = await renderApp('/', { role: 'viewer', answers: { 'health.get': health } })
    fireEvent.press(await screen.findByLabelText('Summary'))
    expect(await screen.findByText(/Your role is viewer/)).toBeVisible()
    expect(await screen.findByLabelText('Copy for Slack')).toBeVisible()
  })

  it('is not offered when all is well', async () => {
    const { screen } = await renderApp('/')
    expect(await screen.findByRole('heading', { name: 'All good' })).toBeVisible()
    expect(screen.queryByLabelText('Summary')).toBeNull()
  })
})
