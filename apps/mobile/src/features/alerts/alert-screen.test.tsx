import { OncueError } from '@oncue/sdk'
import { fireEvent, waitFor } from 'expo-router/testing-library'
import { alertOf, minutesAgo, ruleOf } from '../../testing/alerts.ts'
import { groupOf } from '../../testing/failures.ts'
import { renderApp } from '../../testing/render-app.tsx'

const ID = alertOf(1).id

/** An alert that is acknowledged and snoozed as on the server; `said` records the calls. */
function answersFor(alert = alertOf(1)) {
  let now = alert
  const said: string[] = []
  const mark = (name: string, change: Partial<typeof alert>) => {
    said.push(name)
    now = { ...now, ...change }
    return now
  }
  const by = 'Grace'
  return {
    said,
    answers: {
      'alerts.get': () => now,
      'alerts.list': () => ({ items: [now], nextCursor: null }),
      'alerts.rules': () => [ruleOf('late')],
      'alerts.ack': () => {
        const acked = mark('ack', { state: 'acked', acked: { at: minutesAgo(0), by }, snoozed: null })
        return { ...acked, alerts: [acked] }
      },
      'alerts.unack': () => mark('unack', { state: 'firing', acked: null }),
      'alerts.snooze': ({ until }: { until: Date }) =>
        mark('snooze', { state: 'snoozed', snoozed: { until, by }, acked: null }),
      'alerts.unsnooze': () => mark('unsnooze', { state: 'firing', snoozed: null }),
    } as const,
  }
}

describe('An alert', () => {
  it('says how far over its limit it is, by which rule, and that it is not acknowledged', async () => {
    const { screen } = await renderApp(`/alerts/${ID}`, { answers: answersFor().answers })
    expect(await screen.findByLabelText(/^12.min wait of the oldest job, the limit is 5.min/)).toBeVisible()
    expect(screen.getByText('no one')).toBeVisible()
    expect(await screen.findByText(/Jobs wait too long: the oldest job waits longer than/)).toBeVisible()
  })

  it('gives an incident summary to copy, with itself at the head', async () => {
    const { screen } = await renderApp(`/alerts/${ID}`, {
      answers: { ...answersFor().answers, 'audit.list': () => ({ items: [], nextCursor: null }) },
    })
    fireEvent.press(await screen.findByLabelText('Summary'))
    expect(await screen.findByText(/ Alert: .+, since .+ UTC, not acknowledged/)).toBeVisible()
    expect(screen.getByLabelText('Copy for Slack')).toBeVisible()
  })

  it('leads to its queue', async () => {
    const { app, screen } = await renderApp(`/alerts/${ID}`, { answers: answersFor().answers })
    fireEvent.press(await screen.findByLabelText('Open queue mail'))
    expect(app.getPathname()).toBe('/queues/mail')
  })

  it('says why the jobs of its queue wait', async () => {
    const text = 'Queue mail is at its limit: 2 of 2 running'
    const reasons = [{ kind: 'queue_limit', text, until: null } as const]
    const { screen } = await renderApp(`/alerts/${ID}`, {
      answers: {
        ...answersFor().answers,
        'queues.explain': ({ queue }) => ({ queue, waiting: 9, reasons, drain: null }),
      },
    })
    expect(await screen.findByText('Why are jobs waiting?')).toBeVisible()
    expect(screen.getByText(text)).toBeVisible()
  })

  it('names the errors of its queue, one tap away', async () => {
    const { app, screen } = await renderApp(`/alerts/${ID}`, {
      answers: {
        ...answersFor().answers,
        'jobs.failures': (input) => (input?.queue === 'mail' ? [groupOf('f00d', { retrying: 7 })] : []),
      },
    })
    fireEvent.press(await screen.findByLabelText(/^SmtpTimeout: .* 7 retrying · 312 gave up/))
    expect(app.getPathname()).toBe('/failures/f00d')
  })

  it('is acknowledged at once, and unacknowledged by Undo', async () => {
    const { answers, said } = answersFor()
    const { screen } = await renderApp(`/alerts/${ID}`, { answers })
    fireEvent.press(await screen.findByLabelText('Acknowledge'))
    expect(await screen.findByText(/^Grace, /)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Undo'))
    expect(await screen.findByLabelText('Acknowledge')).toBeVisible()
    expect(said).toEqual(['ack', 'unack'])
  })

  it('is snoozed, and Undo restores its earlier state', async () => {
    const { answers, said } = answersFor(
      alertOf(1, { state: 'acked', acked: { at: minutesAgo(2), by: 'ada' } }),
    )
    const { screen } = await renderApp(`/alerts/${ID}`, { answers })
    fireEvent.press(await screen.findByLabelText('Snooze'))
    expect(await screen.findByText(/^\w{3} \d+ \w{3}, 09:00.UTC\+\d$/)).toBeVisible()
    fireEvent.press(await screen.findByLabelText('Snooze: 1 hour'))
    expect(await screen.findByText(/^Snoozed until/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Undo'))
    await waitFor(() => expect(said).toEqual(['snooze', 'ack']))
  })

  it('says why an action failed', async () => {
    const { answers } = answersFor()
    const { screen } = await renderApp(`/alerts/${ID}`, {
      answers: {
        ...answers,
        'alerts.ack': () => {
          throw new OncueError('INVALID_STATE', 'The alert is resolved')
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Acknowledge'))
    expect(await screen.findByText(/The alert is resolved/)).toBeVisible()
  })

  it('is locked for a viewer, with the reason', async () => {
    const { answers, said } = answersFor()
    const { screen } = await renderApp(`/alerts/${ID}`, { role: 'viewer', answers })
    fireEvent.press(await screen.findByLabelText('Acknowledge'))
    expect(await screen.findByText('You are a viewer. Operators and admins can do this.')).toBeVisible()
    expect(said).toEqual([])
  })

  it('that is resolved offers no actions', async () => {
    const over = alertOf(1, { state: 'resolved', resolvedAt: minutesAgo(2) })
    const { screen } = await renderApp(`/alerts/${ID}`, { answers: answersFor(over).answers })
    expect(await screen.findByText(/after 10.min/)).toBeVisible()
    expect(screen.queryByLabelText('Acknowledge')).toBeNull()
  })

  it('that is no longer kept says so', async () => {
    const { screen } = await renderApp(`/alerts/${ID}`, {
      answers: {
        'alerts.get': () => {
          throw new OncueError('ALERT_NOT_FOUND', `There is no alert ${ID}`)
        },
      },
    })
    expect(await screen.findByText('No such alert')).toBeVisible()
  })
})
