import { OncueError } from '@oncue/sdk'
import type { TestAnswers } from '@oncue/sdk/testing'
import { fireEvent } from 'expo-router/testing-library'
import { BULK_OPERATION_ID, bulkOperationOf } from '../../testing/failures.ts'
import { renderApp } from '../../testing/render-app.tsx'

type BulkOperation = ReturnType<typeof bulkOperationOf>

function open(differs: TestAnswers, role: 'viewer' | 'operator' = 'operator') {
  return renderApp(`/bulk-operations/${BULK_OPERATION_ID}`, {
    role,
    answers: { 'bulkOperations.list': () => ({ items: [], nextCursor: null }), ...differs },
  })
}

async function* messages(...bulkOperations: BulkOperation[]) {
  yield* bulkOperations
  await new Promise<never>(() => {})
}

const finished = bulkOperationOf({
  ...{ status: 'completed', done: 309, skipped: { INVALID_STATE: 3 }, finishedAt: new Date() },
})

describe('a bulk operation', () => {
  it('shows its progress live, and ends with what was done and what was skipped', async () => {
    const { screen } = await open({
      'bulkOperations.get': () => bulkOperationOf(),
      'bulkOperations.watch': () => messages(bulkOperationOf({ done: 150 }), finished),
    })
    expect(await screen.findByText('Retried 309, skipped 3 (already waiting or running)')).toBeVisible()
    expect(screen.getByLabelText('309 retried')).toBeVisible()
    expect(screen.getByText('failed jobs with GatewayTimeoutError · no answer from the bank')).toBeVisible()
    expect(screen.getByLabelText('Back to the failure')).toBeVisible()
    expect(screen.queryByLabelText('Stop')).toBeNull()
  })

  it('is polled where there is no stream', async () => {
    let asked = 0
    const { screen } = await open({
      'bulkOperations.get': () => (++asked === 1 ? bulkOperationOf() : finished),
      'bulkOperations.watch': () => {
        throw new OncueError('NETWORK_ERROR', 'no stream')
      },
    })
    expect(await screen.findByText(/^Retried 309/, {}, { timeout: 10_000 })).toBeVisible()
  })

  it('is stopped at once, and says what stays done', async () => {
    let status: BulkOperation['status'] = 'running'
    const { screen } = await open({
      'bulkOperations.get': () =>
        bulkOperationOf({ status, done: 120, stoppedBy: status === 'stopped' ? 'me' : null }),
      'bulkOperations.watch': () => messages(),
      'bulkOperations.stop': () => {
        status = 'stopped'
        return bulkOperationOf({ status, done: 120 })
      },
    })
    fireEvent.press(await screen.findByLabelText('Stop'))
    expect(await screen.findByText('Stopped: retried 120')).toBeVisible()
    expect(await screen.findByText(/^Stopped: retried 120 of 312/)).toBeVisible()
  })

  it('cannot be stopped by a viewer, who sees why', async () => {
    const { screen } = await open(
      { 'bulkOperations.get': () => bulkOperationOf(), 'bulkOperations.watch': () => messages() },
      'viewer',
    )
    fireEvent.press(await screen.findByLabelText('Stop'))
    expect(await screen.findByText(/You are a viewer/)).toBeVisible()
  })

  it('that failed says why', async () => {
    const error = { code: 'DATABASE_UNAVAILABLE', message: 'The database went away' }
    const { screen } = await open({
      'bulkOperations.get': () => bulkOperationOf({ status: 'failed', error }),
    })
    expect(await screen.findByText('The database went away')).toBeVisible()
  })

  it('that is no longer kept says so', async () => {
    const { screen } = await open({
      'bulkOperations.get': () => {
        throw new OncueError('BULK_OPERATION_NOT_FOUND', `There is no bulk operation ${BULK_OPERATION_ID}`)
      },
    })
    expect(await screen.findByText('No such bulk operation')).toBeVisible()
  })

  it('lists the others', async () => {
    const other = bulkOperationOf({
      id: '0199a1b2-0000-7000-8000-000000000002',
      status: 'completed',
      done: 7,
    })
    const { screen } = await open({
      'bulkOperations.get': () => finished,
      'bulkOperations.list': () => ({ items: [finished, other], nextCursor: null }),
    })
    expect(await screen.findByText('Retried 7')).toBeVisible()
  })

  it('shows the outcomes of its jobs, also after it has ended', async () => {
    const outcomes = { completed: 131, running: 12, waiting: 139, failedAgain: 27, cancelled: 0 }
    const later = { completed: 280, running: 0, waiting: 0, failedAgain: 29, cancelled: 0 }
    const { screen } = await open({
      'bulkOperations.get': () => ({ ...finished, outcomes }),
      'bulkOperations.watch': () => messages({ ...finished, outcomes: later }),
    })
    expect(await screen.findByText('280 completed · 29 failed again')).toBeVisible()
    expect(screen.getByText('29 of 309 failed again')).toBeVisible()
    expect(screen.getByText('Failed again')).toBeVisible()
    expect(screen.queryByText('Completed')).toBeNull()
  })

  it('runs a canary first, and says what follows', async () => {
    const trying = bulkOperationOf({
      ...{ status: 'canary', done: 5, canary: { count: 5, maxFailed: 0 } },
      outcomes: { completed: 3, running: 2, waiting: 0, failedAgain: 0, cancelled: 0 },
    })
    const { screen } = await open({
      'bulkOperations.get': () => trying,
      'bulkOperations.watch': () => messages(trying),
    })
    expect(await screen.findByText('Trying 5 of 312 jobs first')).toBeVisible()
    expect(screen.getByText('3 completed · 2 running')).toBeVisible()
    expect(screen.getByText(/^The others follow when these complete/)).toBeVisible()
    expect(screen.getByLabelText('Stop')).toBeVisible()
  })

  it('leads to the other failures where none of this one is left', async () => {
    const outcomes = { completed: 300, running: 12, waiting: 0, failedAgain: 0, cancelled: 0 }
    const done = bulkOperationOf({ status: 'completed', done: 312, outcomes, finishedAt: new Date() })
    const { app, screen } = await open({
      'bulkOperations.get': () => done,
      'bulkOperations.watch': () => messages(done),
      'jobs.failures': () => [],
    })
    fireEvent.press(await screen.findByLabelText('See the failures'))
    expect(app.getPathname()).toBe('/failures')
  })

  it('leads back to its failure where some failed again', async () => {
    const outcomes = { completed: 300, running: 0, waiting: 0, failedAgain: 12, cancelled: 0 }
    const done = bulkOperationOf({ status: 'completed', done: 312, outcomes, finishedAt: new Date() })
    const { screen } = await open({
      'bulkOperations.get': () => done,
      'bulkOperations.watch': () => messages(done),
    })
    expect(await screen.findByLabelText('Back to the failure')).toBeVisible()
  })

  it('leads back to jobs where it was not about one failure', async () => {
    const { app, screen } = await open({
      'bulkOperations.get': () => ({ ...finished, filter: { status: 'failed', queue: 'mail' } }),
      'jobs.list': () => ({
        ...{ items: [], total: 0, totalIsExact: true, nextCursor: null, limit: 50, offset: 0 },
      }),
    })
    fireEvent.press(await screen.findByLabelText('See the jobs'))
    expect(app.getPathname()).toBe('/jobs')
  })
})
