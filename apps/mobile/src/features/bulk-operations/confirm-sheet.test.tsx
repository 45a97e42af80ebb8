import type { TestAnswers } from '@oncue/sdk/testing'
import { act, fireEvent, waitFor } from 'expo-router/testing-library'
import { useFontScale } from '../../lib/font-scale.ts'
import { bulkOperationOf, groupOf, previewOf } from '../../testing/failures.ts'
import { renderApp } from '../../testing/render-app.tsx'

jest.mock('../../lib/font-scale', () => ({ useFontScale: jest.fn(() => 1) }))

async function ask(differs: TestAnswers = {}) {
  const rendered = await renderApp('/failures/f00d', {
    answers: {
      'jobs.failures': () => [groupOf('f00d')],
      'bulkOperations.preview': () => previewOf(12),
      'bulkOperations.get': () => bulkOperationOf({ status: 'completed', done: 12 }),
      'bulkOperations.list': () => ({ items: [], nextCursor: null }),
      ...differs,
    },
  })
  fireEvent.press(await rendered.screen.findByLabelText('Retry these 12'))
  await rendered.screen.findByText('Retry 12 jobs?')
  return rendered
}

describe('the sheet before a bulk operation', () => {
  it('stays open while the operation is being started: closing would not cancel it', async () => {
    let release = () => {}
    const { app, screen } = await ask({
      'bulkOperations.run': () => {
        const answer = new Promise<void>((resolve) => {
          release = resolve
        }).then(() => bulkOperationOf({ status: 'completed', done: 12 }))
        // The transport awaits a promise, which the answer's type does not say.
        return answer as never
      },
    })
    fireEvent.press(screen.getByRole('button', { name: /^Retry 12.jobs/ }))
    await screen.findByRole('button', { name: /^Retry 12.jobs/, busy: true })
    fireEvent.press(screen.getByLabelText('Close'))
    expect(screen.getByText('Retry 12 jobs?')).toBeVisible()
    await act(async () => release())
    expect(await screen.findByText('Retried 12')).toBeVisible()
    expect(app.getPathname()).toMatch(/^\/bulk-operations\//)
  })

  it('can be closed before it is confirmed', async () => {
    const { screen } = await ask()
    fireEvent.press(screen.getByLabelText('Close'))
    expect(screen.queryByText('Retry 12 jobs?')).toBeNull()
  })

  it('promises only what the server will do: suspended jobs are skipped, and counted so', async () => {
    const byStatus = { suspended: 2, failed: 10 }
    const { screen } = await renderApp('/failures/f00d', {
      answers: {
        'jobs.failures': () => [groupOf('f00d')],
        'bulkOperations.preview': () => ({ ...previewOf(12), byStatus }),
        'bulkOperations.list': () => ({ items: [], nextCursor: null }),
      },
    })
    fireEvent.press(await screen.findByLabelText('Retry these 12'))
    expect(await screen.findByText('Retry 10 jobs?')).toBeVisible()
    expect(screen.getByText(/^2 are waiting for a signal, .* and are skipped\.$/)).toBeVisible()
    expect(screen.getByRole('button', { name: /^Retry 10.jobs/ })).toBeVisible()
  })

  it('leaves each label the width it needs where text is large', async () => {
    jest.mocked(useFontScale).mockReturnValue(2)
    const { screen } = await ask()
    expect(screen.getByText('Where')).not.toHaveStyle({ width: 84 })
  })

  it('offers a canary', async () => {
    const asked: unknown[] = []
    const { screen } = await ask({
      'bulkOperations.run': (request: unknown) => {
        asked.push(request)
        return bulkOperationOf({ status: 'canary', canary: { count: 5, maxFailed: 0 } })
      },
    })
    expect(screen.getByText('All of them are due at once.')).toBeVisible()
    fireEvent.press(screen.getByText('Try 5 first'))
    expect(await screen.findByText(/^The others follow by themselves/)).toBeVisible()
    expect(screen.queryByText(/^All of them/)).toBeNull()
    expect(screen.getByText('The first 5 are due at once, the rest when these complete.')).toBeVisible()
    fireEvent.press(screen.getByText('Spread over 10 min'))
    expect(screen.getByText(/^The first 5, then the others a few at a time, so that/)).toBeVisible()
    fireEvent.press(screen.getByText('At once'))
    fireEvent.press(screen.getByRole('button', { name: /^Retry 12.jobs/ }))
    await waitFor(() => expect(asked).toMatchObject([{ canary: { count: 5, maxFailed: 0 } }]))
  })

  it('says "about" where it inspected only some jobs, and how many kinds it leaves out', async () => {
    const byError = ['A', 'B', 'C', 'D'].map((name) => ({ class: name, message: '', count: 500 }))
    const { screen } = await ask({
      'bulkOperations.preview': () => ({
        ...previewOf(12),
        count: 12,
        byError,
        errorKinds: 40,
        inspected: 6,
      }),
    })
    expect(screen.getByText('about 1,000 × A')).toBeVisible()
    expect(screen.getByText('and 37 more kinds')).toBeVisible()
  })

  it('has the same numbers for a run now: about, more kinds, and at least where counting was cut short', async () => {
    const byError = ['A', 'B', 'C', 'D'].map((name) => ({ class: name, message: '', count: 500 }))
    const { screen } = await renderApp('/failures/f00d', {
      answers: {
        'jobs.failures': () => [groupOf('f00d', { retrying: 7 })],
        'bulkOperations.list': () => ({ items: [], nextCursor: null }),
        'bulkOperations.preview': () => ({
          ...previewOf(100_000),
          ...{ countIsExact: false, byError, errorKinds: 40, inspected: 2_000 },
        }),
      },
    })
    fireEvent.press(await screen.findByLabelText('More'))
    fireEvent.press(screen.getByLabelText('Run at least 100,000 retrying now'))
    expect(await screen.findByText('Run at least 100,000 jobs now?')).toBeVisible()
    expect(screen.getByText('about 25,000 × A')).toBeVisible()
    expect(screen.getByText('and 37 more kinds')).toBeVisible()
    expect(screen.getByLabelText(/^Hold to run at least 100,000.jobs now$/)).toBeVisible()
  })
})
