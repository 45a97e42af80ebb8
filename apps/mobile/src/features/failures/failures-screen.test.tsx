import { OncueError } from '@oncue/sdk'
import { act, fireEvent } from 'expo-router/testing-library'
import { serverNow } from '../../lib/clock.ts'
import { bulkOperationOf, groupOf, previewOf } from '../../testing/failures.ts'
import { renderApp } from '../../testing/render-app.tsx'

const ROW = /^SmtpTimeout: smtp.example.com did not answer. 312 gave up, digest, in mail, last .*, new/

describe('Failures', () => {
  it('lists failures by their cause', async () => {
    const { screen } = await renderApp('/failures', {
      answers: { 'jobs.failures': () => [groupOf('f00d', { isNew: true })] },
    })
    expect(await screen.findByLabelText(ROW)).toBeVisible()
  })

  it('says the number of jobs once', async () => {
    const { screen } = await renderApp('/failures', {
      answers: { 'jobs.failures': () => [groupOf('f00d')] },
    })
    expect(await screen.findAllByText(/312/)).toHaveLength(1)
  })

  it('tells failed deliveries of alerts, which are Oncue’s own, from failed jobs', async () => {
    const own = { class: 'TypeError', queues: ['oncue'], topics: ['oncue:notify'] }
    const { screen } = await renderApp('/failures', {
      answers: { 'jobs.failures': () => [groupOf('f00d'), groupOf('beef', own)] },
    })
    expect(
      await screen.findByLabelText(/^TypeError: .* gave up, Alert delivery, Oncue’s own, /),
    ).toBeVisible()
    expect(screen.getAllByText(/Alert delivery/)).toHaveLength(1)
    expect(screen.queryByText(/oncue:notify/)).toBeNull()
  })

  it('opens a group, with the filter in the address', async () => {
    const { app, screen } = await renderApp('/failures?window=1h', {
      answers: { 'jobs.failures': () => [groupOf('f00d', { isNew: true })] },
    })
    fireEvent.press(await screen.findByLabelText(ROW))
    expect(app.getPathnameWithParams()).toBe('/failures/f00d?window=1h')
  })

  it('requests the chosen time window', async () => {
    const asked: number[] = []
    const { screen } = await renderApp('/failures', {
      answers: {
        'jobs.failures': (input) => {
          asked.push(Math.round((serverNow() - (input?.since?.getTime() ?? 0)) / 3_600_000))
          return []
        },
      },
    })
    expect(
      await screen.findByText(/No job is retrying, and none ran out of retries in the last 24 hours/),
    ).toBeVisible()
    fireEvent.press(screen.getByLabelText('7 d'))
    expect(
      await screen.findByText(/No job is retrying, and none ran out of retries in the last 7 days/),
    ).toBeVisible()
    expect(asked).toEqual([24, 7 * 24])
  })

  it('filters by queue, says when nothing matches, and clears', async () => {
    const { screen } = await renderApp('/failures', {
      answers: { 'jobs.failures': (input) => (input?.queue === 'default' ? [] : [groupOf('f00d')]) },
    })
    await screen.findByLabelText(/^SmtpTimeout/)
    fireEvent.press(screen.getByLabelText('Queue'))
    fireEvent.press(await screen.findByLabelText('default'))
    expect(await screen.findByText('Nothing matches')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Clear filter'))
    expect(await screen.findByLabelText(/^SmtpTimeout/)).toBeVisible()
  })

  it('keeps rows in place, and offers new groups behind a chip', async () => {
    let groups = [groupOf('f00d')]
    const { screen } = await renderApp('/failures', { answers: { 'jobs.failures': () => groups } })
    await screen.findByLabelText(/312 gave up/)
    groups = [groupOf('beef', { failed: 7 }), groupOf('f00d', { failed: 313 })]
    await act(() => jest.advanceTimersByTimeAsync(11_000))
    expect(screen.getByLabelText(/313 gave up/)).toBeVisible()
    expect(screen.queryByLabelText(/\. 7 gave up/)).toBeNull()
    fireEvent.press(screen.getByLabelText('1 new – tap to show'))
    expect(screen.getByLabelText(/\. 7 gave up/)).toBeVisible()
  })

  it('shows how many jobs retry, how many gave up, and when the next try is', async () => {
    const nextTryAt = new Date(serverNow() + 40_500)
    const group = groupOf('f00d', { retrying: 2_105, failed: 40, nextTryAt })
    const { screen } = await renderApp('/failures', { answers: { 'jobs.failures': () => [group] } })
    expect(await screen.findByLabelText(/^SmtpTimeout: .* 2,105 retrying · 40 gave up, digest/)).toBeVisible()
    expect(screen.getByText(/^2,105 retrying · 40 gave up · next try in \d\d.s$/)).toBeVisible()
  })

  it('sorts by size and filters by text, in the address', async () => {
    const asked: unknown[] = []
    const { app, screen } = await renderApp('/failures', {
      answers: {
        'jobs.failures': (input) => {
          asked.push([input?.sort, input?.text])
          return input?.text === 'none' ? [] : [groupOf('f00d')]
        },
      },
    })
    await screen.findByLabelText(/^SmtpTimeout/)
    fireEvent.press(screen.getByLabelText('Order: last seen first'))
    expect(await screen.findByLabelText('Order: largest first')).toBeVisible()
    expect(screen.queryByLabelText('Order: last seen first')).toBeNull()
    const field = screen.getByLabelText('Filter by class or message')
    fireEvent.changeText(field, ' none ')
    fireEvent(field, 'submitEditing')
    expect(await screen.findByText('Nothing matches')).toBeVisible()
    expect(app.getPathnameWithParams()).toBe('/failures?sort=largest&text=none')
    expect(asked.at(0)).toEqual(['latest', undefined])
    expect(asked.at(-1)).toEqual(['largest', 'none'])
  })

  it('retries several errors, each as a bulk operation', async () => {
    const sent: unknown[] = []
    const { screen } = await renderApp('/failures', {
      role: 'operator',
      answers: {
        'jobs.failures': () => [
          groupOf('f00d'),
          groupOf('beef', { class: 'TypeError' }),
          groupOf('cafe', { class: 'RangeError' }),
        ],
        'bulkOperations.preview': ({ filter }) => previewOf(filter.fingerprint === 'f00d' ? 12 : 3),
        'bulkOperations.run': ({ action, filter, expectedCount }) => {
          sent.push([action, filter, expectedCount])
          return bulkOperationOf()
        },
      },
    })
    await screen.findByLabelText(/^SmtpTimeout/)
    fireEvent.press(screen.getByLabelText('Select'))
    fireEvent.press(screen.getByLabelText(/^SmtpTimeout/))
    fireEvent.press(screen.getByLabelText(/^TypeError/))
    expect(screen.getByText(/^2.errors selected$/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Retry'))
    expect(await screen.findByText(/^Retry 15.jobs of 2.errors\?$/)).toBeVisible()
    fireEvent.press(screen.getByLabelText(/^Retry 15.jobs$/))
    expect(await screen.findByText(/^2.bulk operations started$/)).toBeVisible()
    expect(sent).toEqual([
      ['requeue', { fingerprint: 'f00d', status: 'failed' }, 12],
      ['requeue', { fingerprint: 'beef', status: 'failed' }, 3],
    ])
    expect(screen.getByLabelText('Select')).toBeVisible()
  })

  it('says that a role has no access', async () => {
    const { screen } = await renderApp('/failures', {
      answers: {
        'jobs.failures': () => {
          throw new OncueError('FORBIDDEN', 'A producer may not read')
        },
      },
    })
    expect(await screen.findByText('No access')).toBeVisible()
  })
})
