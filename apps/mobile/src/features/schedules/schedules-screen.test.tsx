import { OncueError } from '@oncue/sdk'
import { act, fireEvent, waitFor } from 'expo-router/testing-library'
import { scheduleOf, topicOf } from '../../testing/admin.ts'
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

  it('show the next runs in the row and in the sheet', async () => {
    const nextRuns = [3, 63, 123].map((minutes) => minutesAgo(-minutes))
    const { screen } = await renderApp('/schedules', {
      answers: { 'schedules.list': () => [scheduleOf('hourly', { nextAt: nextRuns[0] ?? null, nextRuns })] },
    })
    const words = runsInWords(nextRuns, NOW.getTime())
    expect(words).toMatch(/, then.*, /)
    expect(await screen.findByText(`next ${words}`)).toBeVisible()
    fireEvent.press(screen.getByLabelText(/^hourly, .*, next in [23].*, then.\d/))
    const escaped = words.replaceAll(/[.+]/g, '\\$&').replaceAll('\u00a0', ' ')
    expect(await screen.findByText(new RegExp(`^in [23].min.*, at ${escaped}$`))).toBeVisible()
  })

  it('have no next runs while they are paused', async () => {
    const paused = { at: minutesAgo(4), by: 'ada' }
    const { screen } = await renderApp('/schedules', {
      answers: { 'schedules.list': () => [scheduleOf('hourly', { nextAt: null, nextRuns: [], paused })] },
    })
    expect(await screen.findByLabelText(/^hourly, .*, paused, /)).toBeVisible()
    expect(screen.queryByText(/^next/)).toBeNull()
  })

  it('are paused at once, and resumed by Undo', async () => {
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
    expect(await screen.findByText('“nightly” paused')).toBeVisible()
    expect(await screen.findByLabelText(/^nightly, .*, paused/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Undo'))
    await waitFor(() => expect(said).toEqual(['pause nightly', 'resume nightly']))
  })

  it('run now after confirmation, and lead to the job', async () => {
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
    expect(await screen.findByText('Run “nightly” now?')).toBeVisible()
    fireEvent.press(await screen.findByLabelText('Run it now'))
    await waitFor(() => expect(app.getPathname()).toBe(`/jobs/${JOB}`))
  })

  it('have to be held to run in production', async () => {
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

  it('show the next runs while a pattern is typed, or what is wrong with it', async () => {
    const asked: string[] = []
    const { screen } = await renderApp('/schedules', {
      role: 'operator',
      answers: {
        'schedules.list': () => [],
        'topics.list': () => [],
        'schedules.preview': ({ cron }) => {
          asked.push(cron)
          if (cron === '0 25 * * *')
            throw new OncueError('INVALID_CRON', 'cron "0 25 * * *" is invalid: hour "25" must be 0-23')
          return { runs: [minutesAgo(-60), minutesAgo(-120)] }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('New schedule'))
    const field = await screen.findByLabelText('Cron')
    fireEvent.changeText(screen.getByLabelText('Time zone'), 'UTC')
    for (const typed of ['0', '0 25', '0 25 * * *']) fireEvent.changeText(field, typed)
    expect(await screen.findByText(/hour "25" must be 0-23/)).toBeVisible()
    fireEvent.changeText(field, '0 * * * *')
    expect(await screen.findByText(/^Next runs: .*, then /)).toBeVisible()
    expect(asked).toEqual(['0 25 * * *', '0 * * * *'])
  })

  it('are made here, and show their next runs once they are saved', async () => {
    const schedules = [scheduleOf('nightly')]
    const saved: unknown[] = []
    const { screen } = await renderApp('/schedules', {
      role: 'operator',
      answers: {
        'schedules.list': () => schedules,
        'topics.list': () => [topicOf('mail_digest')],
        'schedules.save': (input) => {
          saved.push(input)
          const { name, cron } = input
          if (cron === 'often')
            throw new OncueError('INVALID_CRON', 'cron "often" must have five or six fields')
          const schedule = scheduleOf(name, { cron, source: 'database', service: null })
          schedules.push(schedule)
          return schedule
        },
      },
    })
    await screen.findByLabelText(/^nightly/)
    fireEvent.press(screen.getByLabelText('New schedule'))
    fireEvent.changeText(await screen.findByLabelText('Name'), 'nightly')
    fireEvent.changeText(screen.getByLabelText('Cron'), 'often')
    fireEvent.changeText(screen.getByLabelText('Time zone'), 'UTC')
    fireEvent.changeText(screen.getByLabelText('Topic'), 'mail')
    expect(await screen.findByText(/^No worker has announced this topic/)).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('Topic'), 'mail_digest')
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText(/already a schedule with this name/)).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('Name'), 'mornings')
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText(/^cron "often" must have/)).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('Cron'), '0 9 * * *')
    expect(screen.getByText('every day at 09:00')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText(/^“mornings” saved, next in /)).toBeVisible()
    expect(screen.getByText('Next runs')).toBeVisible()
    const wanted = { name: 'mornings', timezone: 'UTC', topic: 'mail_digest', payload: {}, missed: 'skip' }
    expect(saved).toEqual([
      { ...wanted, cron: 'often' },
      { ...wanted, cron: '0 9 * * *' },
    ])
  })

  it('say a pattern in words while it is typed', async () => {
    const { screen } = await renderApp('/schedules', {
      answers: { 'schedules.list': () => [], 'topics.list': () => [] },
    })
    fireEvent.press(await screen.findByLabelText('New schedule'))
    fireEvent.changeText(await screen.findByLabelText('Cron'), '*/5 * * * *')
    expect(await screen.findByText('every 5 minutes')).toBeVisible()
  })

  it('made by people are edited, and keep the options that are not shown', async () => {
    const saved: unknown[] = []
    const options = { priority: 5 }
    const schedule = scheduleOf('nightly', { source: 'database', service: null, options, timezone: 'UTC' })
    const { screen } = await renderApp('/schedules', {
      answers: {
        'schedules.list': () => [schedule],
        'topics.list': () => [],
        'schedules.save': (input) => {
          saved.push(input)
          return schedule
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^nightly/))
    fireEvent.press(await screen.findByLabelText('Edit'))
    fireEvent.changeText(await screen.findByLabelText('Payload, as JSON'), '{"a":1}')
    fireEvent.press(screen.getByLabelText('Run all'))
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText(/^“nightly” saved/)).toBeVisible()
    expect(saved).toMatchObject([{ name: 'nightly', payload: { a: 1 }, missed: 'all', options }])
  })

  it('made by people are removed by holding', async () => {
    let schedules = [scheduleOf('nightly', { source: 'database', service: null })]
    const { screen } = await renderApp('/schedules', {
      answers: {
        'schedules.list': () => schedules,
        'schedules.remove': () => {
          schedules = []
          return null
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^nightly/))
    const button = await screen.findByLabelText('Hold to remove this schedule')
    fireEvent.press(button)
    await act(() => jest.advanceTimersByTimeAsync(1_100))
    fireEvent.press(button)
    expect(await screen.findByText('“nightly” removed')).toBeVisible()
    expect(await screen.findByText('No schedules')).toBeVisible()
  })

  it('declared in code say that they are changed there', async () => {
    const { screen } = await renderApp('/schedules', {
      answers: { 'schedules.list': () => [scheduleOf('nightly')] },
    })
    fireEvent.press(await screen.findByLabelText(/^nightly/))
    expect(await screen.findByText('Declared in code, by shop: edit or remove it there.')).toBeVisible()
    expect(screen.queryByLabelText('Edit')).toBeNull()
  })

  it('are locked for a viewer, with the reason', async () => {
    const { screen } = await renderApp('/schedules', {
      role: 'viewer',
      answers: { 'schedules.list': () => [scheduleOf('nightly')] },
    })
    fireEvent.press(await screen.findByLabelText(/^nightly/))
    expect(await screen.findByLabelText('Pause')).toBeDisabled()
    expect(screen.getByLabelText('Run now…')).toBeDisabled()
    expect(screen.getByLabelText('New schedule')).toBeDisabled()
  })

  it('say that there are none', async () => {
    const { screen } = await renderApp('/schedules', { answers: { 'schedules.list': () => [] } })
    expect(await screen.findByText('No schedules')).toBeVisible()
  })
})
