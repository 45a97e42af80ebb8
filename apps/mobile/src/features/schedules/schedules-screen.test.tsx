import { fireEvent, waitFor } from 'expo-router/testing-library'
import { scheduleOf } from '../../testing/admin.ts'
import { minutesAgo } from '../../testing/alerts.ts'
import { healthOf, NOW } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { runsInWords } from './next-words.ts'

const JOB = '0199a1b2-0000-7000-8000-00000000000a'

describe('Schedules', () => {
  it('say in words when they run, with the time zone', async () => {
    const { screen } = await renderApp('/schedules', {
      answers: { 'schedules.list': () => [scheduleOf('nightly')] },
    })
    expect(await screen.findByText('on weekdays at 09:00 (Europe/Berlin)')).toBeVisible()
  })

  it('show a pattern that has no words as it is', async () => {
    const { screen } = await renderApp('/schedules', {
      answers: { 'schedules.list': () => [scheduleOf('odd', { cron: '7 9-17 * 1 *', timezone: 'UTC' })] },
    })
    expect(await screen.findByText('7 9-17 * 1 * (UTC)')).toBeVisible()
  })

  it('tell the next runs, in the row and with the rest', async () => {
    const nextRuns = [3, 63, 123].map((minutes) => minutesAgo(-minutes))
    const { screen } = await renderApp('/schedules', {
      answers: { 'schedules.list': () => [scheduleOf('hourly', { nextAt: nextRuns[0] ?? null, nextRuns })] },
    })
    const words = runsInWords(nextRuns, NOW.getTime())
    expect(words).toMatch(/, then .*, /)
    expect(await screen.findByText(`next ${words}`)).toBeVisible()
    fireEvent.press(screen.getByLabelText(/^hourly, .*, next in [23].*, then /))
    const escaped = words.replaceAll('.', '\\.')
    expect(await screen.findByText(new RegExp(`^in [23].min.*, at ${escaped}, your time$`))).toBeVisible()
  })

  it('have no next runs while they are paused', async () => {
    const paused = { at: minutesAgo(4), by: 'ada' }
    const { screen } = await renderApp('/schedules', {
      answers: { 'schedules.list': () => [scheduleOf('hourly', { nextAt: null, nextRuns: [], paused })] },
    })
    expect(await screen.findByLabelText(/^hourly, .*, paused, /)).toBeVisible()
    expect(screen.queryByText(/^next/)).toBeNull()
  })

  it('are paused at once, and that is undone by resuming', async () => {
    let schedule = scheduleOf('nightly')
    const said: string[] = []
    const { screen } = await renderApp('/schedules', {
      role: 'operator',
      answers: {
        'schedules.list': () => [schedule],
        'schedules.pause': ({ name }) => {
          said.push(`pause ${name}`)
          schedule = { ...schedule, paused: { at: minutesAgo(0), by: 'somebody' } }
          return null
        },
        'schedules.resume': ({ name }) => {
          said.push(`resume ${name}`)
          schedule = { ...schedule, paused: null }
          return null
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^nightly/))
    fireEvent.press(await screen.findByLabelText('Pause'))
    expect(await screen.findByText('nightly paused')).toBeVisible()
    expect(await screen.findByLabelText(/^nightly, .*, paused/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Undo'))
    await waitFor(() => expect(said).toEqual(['pause nightly', 'resume nightly']))
  })

  it('run now after a question, and lead to the job', async () => {
    const { app, screen } = await renderApp('/schedules', {
      answers: {
        'health.get': () => healthOf({ environment: 'staging' }),
        'schedules.list': () => [scheduleOf('nightly')],
        'schedules.runNow': () => ({ id: JOB as never }),
        'jobs.get': () => {
          throw new Error('not looked at here')
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^nightly/))
    fireEvent.press(await screen.findByLabelText('Run now…'))
    expect(await screen.findByText('Run nightly now?')).toBeVisible()
    fireEvent.press(await screen.findByLabelText('Run it now'))
    await waitFor(() => expect(app.getPathname()).toBe(`/jobs/${JOB}`))
  })

  it('are run in production only by holding', async () => {
    const { screen } = await renderApp('/schedules', {
      answers: {
        'health.get': () => healthOf({ environment: 'production' }),
        'schedules.list': () => [scheduleOf('nightly')],
      },
    })
    fireEvent.press(await screen.findByLabelText(/^nightly/))
    fireEvent.press(await screen.findByLabelText('Run now…'))
    expect(await screen.findByLabelText('Hold to run it now')).toBeVisible()
  })

  it('are locked for a viewer, with the reason', async () => {
    const { screen } = await renderApp('/schedules', {
      role: 'viewer',
      answers: { 'schedules.list': () => [scheduleOf('nightly')] },
    })
    fireEvent.press(await screen.findByLabelText(/^nightly/))
    expect(await screen.findByLabelText('Pause')).toBeDisabled()
    expect(screen.getByLabelText('Run now…')).toBeDisabled()
  })

  it('say that there are none', async () => {
    const { screen } = await renderApp('/schedules', { answers: { 'schedules.list': () => [] } })
    expect(await screen.findByText('No schedules')).toBeVisible()
  })
})
