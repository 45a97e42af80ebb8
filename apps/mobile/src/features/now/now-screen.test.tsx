import { fireEvent } from 'expo-router/testing-library'
import { healthOf, NOW, queueOf } from '../../testing/health.ts'
import { offline, renderApp } from '../../testing/render-app.tsx'

const late = queueOf('mail', {
  ...{ state: 'late', waiting: 1_204_311, oldestWaiting: new Date(NOW.getTime() - 12 * 60_000) },
})
const trouble = healthOf({
  summary: { level: 'bad', text: 'mail is late: oldest waits 12 min' },
  oldestWaiting: { value: late.oldestWaiting, spark: late.spark.waiting },
  backlog: { value: 1_204_311, spark: late.spark.waiting },
  queues: [late, queueOf('default')],
  failures: [
    {
      ...{ fingerprint: 'f00d', class: 'SmtpTimeout', message: 'no answer', topics: ['digest'] },
      ...{ queues: ['mail'], retrying: 2_105, undoing: 0, retryingIsExact: true, failed: 40 },
      ...{ nextTryAt: new Date(NOW.getTime() + 40_500), lastSeen: NOW, isNew: true },
    },
  ],
  alerts: { firing: 2, acked: 1, snoozed: 0 },
})
const shown = (health: typeof trouble) =>
  renderApp('/', { answers: { 'health.get': () => ({ ...health, now: new Date() }) } })

describe('Now', () => {
  it('is calm when all is well', async () => {
    const { screen } = await shown(healthOf())
    expect(await screen.findByRole('heading', { name: 'All good' })).toBeVisible()
    expect(
      screen.getByText(/All 2.queues are fine. No run fails now, and no job gave up in the last hour/),
    ).toBeVisible()
    expect(screen.queryByText('Queues with problems')).toBeNull()
    expect(screen.getByLabelText(/^Workers alive: 2, 1 of 20.slots busy/)).toBeVisible()
  })

  it('says in one sentence what is wrong, and lists it', async () => {
    const { screen } = await shown(trouble)
    expect(await screen.findByRole('heading', { name: 'mail is late: oldest waits 12 min' })).toBeVisible()
    expect(screen.getByLabelText(/^mail: Late, 1.204.311.jobs waiting/)).toBeVisible()
    expect(
      screen.getByLabelText(/^SmtpTimeout: no answer. 2,105 retrying · 40 gave up, digest, in mail/),
    ).toBeVisible()
    expect(screen.queryByLabelText(/^default:/)).toBeNull()
  })

  it('does not say that all is well while more runs fail than the limit allows', async () => {
    const { screen } = await shown(healthOf({ failureRate: { value: 0.5, spark: late.spark.waiting } }))
    expect(
      await screen.findByRole('heading', { name: '50% of runs failed in the last 15 min' }),
    ).toBeVisible()
    expect(screen.queryByText('All good')).toBeNull()
    expect(screen.queryByText(/are fine/)).toBeNull()
    expect(screen.getByText(/^50% of runs failed in the last 15 min\. None of their jobs/)).toBeVisible()
  })

  it('shows every digit of a large number, and says when a limit is broken', async () => {
    const { screen } = await shown(trouble)
    expect(await screen.findByLabelText(/^Backlog: 1.204.311, steady, last 30.min$/)).toBeVisible()
    expect(screen.getByLabelText(/^Failure rate: .*over 15.min · line 30.min$/)).toBeVisible()
    expect(screen.getByLabelText(/^Oldest waiting: \d+ .*over 5.min/)).toBeVisible()
  })

  it('leads to the alerts, the queue and the failure', async () => {
    const { app, screen } = await shown(trouble)
    fireEvent.press(await screen.findByLabelText(/^2.alerts firing/))
    expect(app.getPathname()).toBe('/alerts')
    fireEvent.press(screen.getByLabelText('Now'))
    fireEvent.press(await screen.findByLabelText(/^mail: Late/))
    expect(app.getPathname()).toBe('/queues/mail')
  })

  it.each(['admin', 'operator'] as const)('lets %s resume the alerts', async (role) => {
    const resumed: string[] = []
    const silent = healthOf({
      summary: { level: 'bad', text: 'No alerts are sent: oncue is paused by anna' },
      delivery: { waiting: 2, oldestWaiting: NOW, paused: { at: NOW, by: 'anna', until: null }, limit: null },
    })
    const { screen } = await renderApp('/', {
      role,
      answers: {
        'health.get': () => silent,
        'queues.resume': ({ queue }) => {
          resumed.push(queue)
          return null
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Resume alerts'))
    expect(await screen.findByText('“oncue” resumed')).toBeVisible()
    expect(resumed).toEqual(['oncue'])
    // An operator may not pause it again.
    expect(screen.queryByLabelText('Undo') !== null).toBe(role === 'admin')
  })

  it('leads to the limit that keeps alerts from being sent', async () => {
    const { app, screen } = await shown(
      healthOf({
        summary: { level: 'bad', text: 'No alerts are sent: oncue is limited to 0 jobs' },
        delivery: { waiting: 2, oldestWaiting: NOW, paused: null, limit: { maxRunning: 0, rate: null } },
      }),
    )
    fireEvent.press(await screen.findByLabelText('Show the limit'))
    expect(app.getPathname()).toBe('/queues/oncue')
    expect(await screen.findByText('Limited to 0')).toBeVisible()
  })

  it('says what to expect before the first job', async () => {
    const { screen } = await shown(healthOf({ queues: [] }))
    expect(await screen.findByText(/No jobs yet/)).toBeVisible()
  })

  it('shows placeholders while its numbers are loading', async () => {
    const { screen } = await renderApp('/', {
      answers: { 'health.get': () => new Promise<never>(() => {}) as never, 'health.watch': silent },
    })
    expect(await screen.findByLabelText('Loading')).toBeVisible()
  })

  it('says when the server does not answer', async () => {
    const { screen } = await renderApp('/', { answers: { 'health.get': offline, 'health.watch': offline } })
    expect(await screen.findByText('The server is not responding')).toBeVisible()
  })
})

async function* silent() {
  await new Promise<never>(() => {})
}
