import { OncueError } from '@oncue/sdk'
import type { TestAnswers } from '@oncue/sdk/testing'
import { act, fireEvent, waitFor, within } from 'expo-router/testing-library'
import { serverNow } from '../../lib/clock.ts'
import { BULK_OPERATION_ID, bulkOperationOf, groupOf, previewOf } from '../../testing/failures.ts'
import { healthOf, NOW } from '../../testing/health.ts'
import { offline, renderApp } from '../../testing/render-app.tsx'

const mockCopied: string[] = []

jest.mock('expo-clipboard', () => ({
  setStringAsync: async (text: string) => mockCopied.push(text) > 0,
}))

type Run = Parameters<NonNullable<TestAnswers['bulkOperations.run']>>[0]

function open(differs: TestAnswers = {}, role: 'viewer' | 'operator' = 'operator') {
  return renderApp('/failures/f00d', {
    role,
    answers: {
      'jobs.failures': () => [groupOf('f00d')],
      'bulkOperations.preview': () => previewOf(12),
      'bulkOperations.get': () => bulkOperationOf({ status: 'completed', done: 12 }),
      'bulkOperations.list': () => ({ items: [], nextCursor: null }),
      ...differs,
    },
  })
}

describe('a group of failures', () => {
  it("shows the error: frames of the user's code at once, those of libraries on request", async () => {
    const { screen } = await open()
    expect(await screen.findByRole('heading', { name: 'SmtpTimeout' })).toBeVisible()
    expect(screen.getByText('at send (/app/src/mail.ts:12:9)')).toBeVisible()
    expect(screen.queryByText(/node_modules/)).toBeNull()
    fireEvent.press(screen.getByLabelText(/^1.library frame$/))
    expect(screen.getByText(/node_modules/)).toBeVisible()
  })

  it('folds a long message, and shows all of it on request', async () => {
    const message = `${'insert into orders '.repeat(60)}failed at last`
    const group = groupOf('f00d')
    const error = { ...group.sample.error, class: 'SqlError', message, fingerprint: 'f00d' }
    const { screen } = await open({
      'jobs.failures': () => [{ ...group, sample: { ...group.sample, error } }],
    })
    expect(await screen.findByText('Show all')).toBeVisible()
    expect(screen.queryByText(/failed at last/)).toBeNull()
    fireEvent.press(screen.getByText('Show all'))
    expect(screen.getByText(/failed at last$/)).toBeVisible()
    fireEvent.press(screen.getByText('Show less'))
    expect(screen.queryByText(/failed at last/)).toBeNull()
    fireEvent.press(screen.getByLabelText('Copy the error'))
    expect(await screen.findByText('Copied')).toBeVisible()
    expect(mockCopied.at(-1)).toContain(message)
  })

  it('lists jobs in retry from their first failed run', async () => {
    const group = groupOf('f00d', { retrying: 2, failed: 0, nextTryAt: new Date(serverNow() + 40_500) })
    const { app, screen } = await open({
      'jobs.failures': () => [group],
      'bulkOperations.preview': ({ action }) => previewOf(action === 'cancel' ? 2 : 0),
    })
    expect(await screen.findByRole('heading', { name: 'Retrying' })).toBeVisible()
    expect(screen.getByText(/^in \d\d.s$/)).toBeVisible()
    expect(screen.queryByText('No such failure')).toBeNull()
    expect(screen.queryByRole('heading', { name: 'Gave up' })).toBeNull()
    expect(screen.queryByLabelText(/^Retry these/)).toBeNull()
    fireEvent.press(screen.getByLabelText('All 2 jobs'))
    expect(app.getPathnameWithParams()).toBe('/jobs?status=retrying%2Csuspended&fingerprint=f00d')
  })

  it('counts jobs that are suspended until they repeat a step as retrying, and runs only the others now', async () => {
    const group = groupOf('f00d', { retrying: 5, failed: 0 })
    const asked: unknown[] = []
    const { screen } = await open({
      'jobs.failures': () => [group],
      'bulkOperations.preview': ({ action, filter }) => {
        if (action === 'run_now') asked.push(filter)
        return action === 'requeue'
          ? previewOf(0)
          : { ...previewOf(action === 'cancel' ? 5 : 3), byStatus: { pending: 3, suspended: 2 } }
      },
    })
    expect(await screen.findByLabelText('Cancel 5 retrying')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Run 3 retrying now'))
    await waitFor(() => expect(asked).toEqual([{ fingerprint: 'f00d', status: 'retrying' }]))
  })

  it('offers no run now if all of them are suspended', async () => {
    const group = groupOf('f00d', { retrying: 2, failed: 0 })
    const { screen } = await open({
      'jobs.failures': () => [group],
      'bulkOperations.preview': ({ action }) =>
        action === 'requeue' ? previewOf(0) : { ...previewOf(2), byStatus: { suspended: 2 } },
    })
    expect(await screen.findByLabelText('Cancel 2 retrying')).toBeVisible()
    expect(screen.queryByLabelText(/^Run .* now$/)).toBeNull()
  })

  it('says when none is left', async () => {
    const { screen } = await open({ 'jobs.failures': () => [], 'bulkOperations.preview': () => previewOf(0) })
    expect(await screen.findByText('No such failure')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Show the last 7 days'))
    expect(await screen.findByText(/in the last 7 days/)).toBeVisible()
  })

  it('shows a viewer what they may not do, and why', async () => {
    const { screen } = await open({}, 'viewer')
    const retry = await screen.findByLabelText('Retry these 12')
    expect(retry).toBeDisabled()
    fireEvent.press(retry)
    expect(await screen.findByText('You are a viewer. Operators and admins can do this.')).toBeVisible()
    expect(screen.queryByText('Retry 12 jobs?')).toBeNull()
  })
})

describe('retrying a group', () => {
  it('sends the count and the moment of the preview, and opens the bulk operation', async () => {
    const sent: Run[] = []
    const { app, screen } = await open({
      'bulkOperations.run': (input) => {
        sent.push(input)
        return bulkOperationOf({ status: 'completed', done: 12 })
      },
    })
    fireEvent.press(await screen.findByLabelText('Retry these 12'))
    expect(await screen.findByText('Retry 12 jobs?')).toBeVisible()
    expect(screen.getByText('failed jobs with SmtpTimeout, “digest”')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Spread over 10 min'))
    fireEvent.press(screen.getByLabelText(/^Retry 12.jobs$/))
    expect(await screen.findByText('Retried 12')).toBeVisible()
    expect(app.getPathname()).toBe(`/bulk-operations/${BULK_OPERATION_ID}`)
    expect(sent).toEqual([
      {
        ...{ action: 'requeue', filter: { fingerprint: 'f00d', status: 'failed' }, asOf: NOW },
        ...{ expectedCount: 12, spreadSeconds: 600, idempotencyKey: expect.stringMatching(/^app-/) },
      },
    ])
  })

  it.each([
    ['100 jobs', previewOf(100), 'staging'],
    ['production', previewOf(1), 'production'],
  ])('has to be held for %s', async (_, preview, environment) => {
    const run = jest.fn(() => bulkOperationOf())
    const { screen } = await open({
      'bulkOperations.preview': () => preview,
      'bulkOperations.run': run,
      'health.get': () => healthOf({ environment }),
    })
    await screen.findByText(environment.toUpperCase())
    fireEvent.press(await screen.findByLabelText(/^Retry (these 100|1 job)$/))
    fireEvent.press(await screen.findByLabelText(/^Hold to retry/))
    expect(await screen.findByText('Press again to confirm')).toBeVisible()
    expect(run).not.toHaveBeenCalled()
  })

  it('explains a count that changed with both numbers, and checks again', async () => {
    const keys: string[] = []
    let matching = 12
    const { screen } = await open({
      'bulkOperations.preview': () => previewOf(matching),
      'bulkOperations.get': () => bulkOperationOf({ status: 'completed', done: matching }),
      'bulkOperations.run': ({ expectedCount, idempotencyKey }) => {
        keys.push(idempotencyKey)
        if (expectedCount === matching) return bulkOperationOf({ status: 'completed', done: matching })
        throw new OncueError('COUNT_MISMATCH', `${matching} jobs match, but ${expectedCount} were expected`, {
          details: { count: matching, countIsExact: true, expectedCount },
        })
      },
    })
    fireEvent.press(await screen.findByLabelText('Retry these 12'))
    const button = await screen.findByLabelText(/^Retry 12.jobs$/)
    matching = 64
    fireEvent.press(button)
    expect(await screen.findByText('64 match now, 12 when you looked')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Check again'))
    fireEvent.press(await screen.findByLabelText(/^Retry 64.jobs$/))
    expect(await screen.findByText('Retried 64')).toBeVisible()
    expect(new Set(keys).size).toBe(2)
  })

  it('starts the operation once, however often it is pressed after a lost response', async () => {
    const sent: Run[] = []
    const { screen } = await open({
      'bulkOperations.preview': () => ({ ...previewOf(12), asOf: new Date() }),
      'bulkOperations.run': (input) => {
        sent.push(input)
        if (sent.length > 1) return bulkOperationOf({ status: 'completed', done: 12 })
        throw new OncueError('REQUEST_TIMEOUT', 'No response within 30 s')
      },
    })
    fireEvent.press(await screen.findByLabelText('Retry these 12'))
    fireEvent.press(await screen.findByLabelText(/^Retry 12.jobs$/))
    expect(await screen.findByText('The server is not responding')).toBeVisible()
    await act(() => jest.advanceTimersByTimeAsync(15_000))
    fireEvent.press(screen.getByLabelText(/^Retry 12.jobs$/))
    expect(await screen.findByText('Retried 12')).toBeVisible()
    expect(sent).toHaveLength(2)
    expect(sent[1]).toEqual(sent[0])
  })

  it('cannot be started offline, and does not start by itself afterwards', async () => {
    let isAway = false
    const run = jest.fn(() => bulkOperationOf())
    const health = () => (isAway ? offline() : healthOf())
    const { screen } = await open({
      'bulkOperations.run': run,
      'health.get': health,
      'health.watch': offline,
    })
    fireEvent.press(await screen.findByLabelText('Retry these 12'))
    await screen.findByLabelText(/^Retry 12.jobs$/)
    isAway = true
    await act(() => jest.advanceTimersByTimeAsync(40_000))
    fireEvent.press(screen.getByLabelText(/^Retry 12.jobs$/))
    expect(screen.getAllByText(/You are offline\. Actions are disabled/)[0]).toBeVisible()
    isAway = false
    await act(() => jest.advanceTimersByTimeAsync(40_000))
    expect(screen.queryByText(/You are offline/)).toBeNull()
    expect(run).not.toHaveBeenCalled()
  })

  it('says when another person was faster', async () => {
    let left = 12
    const { screen } = await open({ 'bulkOperations.preview': () => previewOf(left) })
    await screen.findByLabelText('Retry these 12')
    left = 0
    fireEvent.press(screen.getByLabelText('Retry these 12'))
    expect(await screen.findByText('Nothing to retry')).toBeVisible()
    expect(screen.queryByLabelText(/^Retry \d/)).toBeNull()
  })

  it('says why there is nothing to do about alerts that could not be sent, and leads to the channels', async () => {
    const own = groupOf('f00d', { queues: ['oncue'], topics: ['oncue:notify'], retrying: 1, failed: 0 })
    const { app, screen } = await open({
      'jobs.failures': () => [own],
      'bulkOperations.preview': () => previewOf(0),
      'channels.list': () => [],
    })
    expect(await screen.findByText(/^Oncue runs these jobs itself/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Channels'))
    expect(app.getPathnameWithParams()).toBe('/alerts?view=channels')
  })

  it('cancels only jobs that would be retried automatically', async () => {
    const asked: unknown[] = []
    const { screen } = await open({
      'bulkOperations.preview': ({ action, filter }) => {
        if (action === 'cancel') asked.push(filter)
        return previewOf(3)
      },
    })
    await screen.findByLabelText('More')
    // Four buttons would take three rows of a phone: there it is one row.
    const bar = within(screen.UNSAFE_getByProps({ role: 'toolbar' }))
    expect(bar.getAllByRole('button')).toHaveLength(2)
    expect(bar.getByLabelText('Retry these 3')).toBeVisible()
    fireEvent.press(screen.getByLabelText('More'))
    expect(screen.getByLabelText('Run 3 retrying now')).toBeVisible()
    expect(screen.getByLabelText('Delete 3 failed')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Cancel 3 retrying'))
    expect(await screen.findByText('Cancel 3 jobs?')).toBeVisible()
    expect(screen.queryByLabelText('Delete 3 failed')).toBeNull()
    expect(asked.at(-1)).toEqual({ fingerprint: 'f00d', status: ['retrying', 'suspended'] })
  })
})
