import { OncueError } from '@oncue/sdk'
import { act, fireEvent } from 'expo-router/testing-library'
import { serverNow } from '../../lib/clock.ts'
import { groupOf } from '../../testing/failures.ts'
import { renderApp } from '../../testing/render-app.tsx'

const ROW = /^SmtpTimeout: smtp.example.com did not answer. 312.failed jobs, digest, in mail, last .*, new/

describe('Failures', () => {
  it('lists what fails by its cause', async () => {
    const { screen } = await renderApp('/failures', {
      answers: { 'jobs.failures': () => [groupOf('f00d', { isNew: true })] },
    })
    expect(await screen.findByLabelText(ROW)).toBeVisible()
  })

  it('opens a group, with the filter in the address', async () => {
    const { app, screen } = await renderApp('/failures?window=1h', {
      answers: { 'jobs.failures': () => [groupOf('f00d', { isNew: true })] },
    })
    fireEvent.press(await screen.findByLabelText(ROW))
    expect(app.getPathnameWithParams()).toBe('/failures/f00d?window=1h')
  })

  it('asks for as far back as was chosen', async () => {
    const asked: number[] = []
    const { screen } = await renderApp('/failures', {
      answers: {
        'jobs.failures': (input) => {
          asked.push(Math.round((serverNow() - (input?.since?.getTime() ?? 0)) / 3_600_000))
          return []
        },
      },
    })
    expect(await screen.findByText(/No job ran out of retries in the last 24 hours/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('7 d'))
    expect(await screen.findByText(/No job ran out of retries in the last 7 days/)).toBeVisible()
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

  it('keeps rows where they are, and what came behind a chip', async () => {
    let groups = [groupOf('f00d')]
    const { screen } = await renderApp('/failures', { answers: { 'jobs.failures': () => groups } })
    await screen.findByLabelText(/312.failed jobs/)
    groups = [groupOf('beef', { count: 7 }), groupOf('f00d', { count: 313 })]
    await act(() => jest.advanceTimersByTimeAsync(11_000))
    expect(screen.getByLabelText(/313.failed jobs/)).toBeVisible()
    expect(screen.queryByLabelText(/7.failed jobs/)).toBeNull()
    fireEvent.press(screen.getByLabelText('1 new – tap to show'))
    expect(screen.getByLabelText(/7.failed jobs/)).toBeVisible()
  })

  it('says who may not see it', async () => {
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
