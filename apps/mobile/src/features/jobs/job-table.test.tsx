import type { Inputs } from '@oncue/sdk'
import { act, fireEvent, within } from 'expo-router/testing-library'
import { Dimensions } from 'react-native'
import { NOW } from '../../testing/health.ts'
import { JOB_ID, jobOf, pageOf } from '../../testing/job.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { light } from '../../theme/tokens.ts'

const USUAL = Dimensions.get('window')
const resize = (window: typeof USUAL) => Dimensions.set({ window, screen: window })
const atDesk = (width: number) => ({ ...USUAL, width, height: 900, fontScale: 1 })

beforeEach(() => resize(atDesk(1_440)))
afterEach(() => act(() => resize(USUAL)))

const OTHER_ID = '019a8b2c-7d10-7000-8000-000000000002'
const ERROR = { class: 'SmtpTimeout', message: 'no answer', fingerprint: 'f00d' }
const JOBS = [
  jobOf({
    id: JOB_ID,
    status: 'failed',
    lastError: ERROR,
    retries: 2,
    startedAt: NOW,
    meta: { tenant: 'acme' },
  }),
  jobOf({ id: OTHER_ID, topic: 'report', queue: 'reports' }),
]

type Request = Inputs['jobs']['list']

async function open(path = '/jobs', width = 1_228) {
  const asked: Request[] = []
  const app = await renderApp(path, {
    answers: {
      'topics.list': () => [],
      'jobs.list': (request) => {
        asked.push(request)
        return pageOf(JOBS)
      },
      'jobs.get': (id) => JOBS.find((job) => job.id === (id as { id: string }).id) ?? expect.anything(),
    },
  })
  const { screen } = app
  const table = await screen.findByTestId('job-table')
  fireEvent(table, 'layout', { nativeEvent: { layout: { width } } })
  await screen.findByLabelText(/^mail_digest in mail, Failed/)
  const heads = () =>
    within(screen.getByTestId('job-table-head'))
      .getAllByText(/./)
      .map(({ props }) => props.children)
  return { ...app, asked, table, heads }
}

describe('the table of jobs', () => {
  it('has a line for each job, with what is known of it', async () => {
    const { screen, heads } = await open()
    expect(heads()).toEqual([
      ...['Status', 'Topic', 'Id', 'Created', 'Error or wait', 'Queue', 'Due', 'Runs', 'Duration'],
    ])
    expect(screen.getByText('SmtpTimeout: no answer')).toBeVisible()
    expect(screen.getByText('3 of 4')).toBeVisible()
    expect(screen.getByText('…00000001')).toBeVisible()
  })

  it('leaves out the last columns where there is no room', async () => {
    const { heads, table } = await open('/jobs', 812)
    expect(heads()).toEqual(['Status', 'Topic', 'Id', 'Created', 'Error or wait'])
    // Put away behind a job, it has no width, and stays as it is.
    fireEvent(table, 'layout', { nativeEvent: { layout: { width: 0 } } })
    expect(heads()).toHaveLength(5)
  })

  it('shows whole ids on a large screen', async () => {
    resize(atDesk(2_560))
    const { screen } = await open('/jobs', 2_348)
    expect(screen.getByText(JOB_ID)).toBeVisible()
  })

  it('asks for the oldest first when its column is pressed, and says so', async () => {
    const { screen, asked, app } = await open()
    expect(asked[0]).toEqual({ limit: 100 })
    fireEvent.press(screen.getByLabelText('Created, newest first'))
    expect(await screen.findByText('2 jobs, oldest first')).toBeVisible()
    expect(asked.at(-1)).toEqual({ limit: 100, order: 'oldest' })
    expect(app.getSearchParams()).toEqual({ order: 'oldest' })
  })

  it('takes everything from the address: statuses, times, order and preview', async () => {
    const times = 'createdFrom=2026-11-01T00:00:00.000Z&createdTo=2026-11-02T00:00:00.000Z'
    const { screen, asked } = await open(
      `/jobs?status=failed,pending&${times}&order=oldest&preview=${JOB_ID}`,
    )
    expect(asked[0]).toEqual({
      status: ['failed', 'pending'],
      createdFrom: new Date('2026-11-01'),
      createdTo: new Date('2026-11-02'),
      order: 'oldest',
      limit: 100,
    })
    expect(await screen.findByLabelText('Preview of …00000001')).toBeVisible()
    expect(screen.getByLabelText(/^Remove filter From .* to /)).toBeVisible()
  })

  it('previews a job beside the table, marked in another colour than what is under the pointer', async () => {
    const { screen } = await open()
    fireEvent.press(screen.getByLabelText('Preview …00000002'))
    const preview = within(await screen.findByLabelText('Preview of …00000002'))
    expect(await preview.findByText('reports')).toBeVisible()
    expect(screen.getByLabelText(/^report in reports/)).toHaveStyle({ backgroundColor: light.surfacePressed })
    expect(screen.getByLabelText(/^mail_digest in mail/)).not.toHaveStyle({
      backgroundColor: light.surfacePressed,
    })
    fireEvent.press(preview.getByLabelText('Close the preview'))
    expect(screen.queryByLabelText('Preview of …00000002')).toBeNull()
  })

  it('is as dense, and has the columns, that were chosen', async () => {
    const { screen, heads } = await open()
    const row = () => screen.getByTestId(`job-${JOB_ID}`)
    expect(row()).toHaveStyle({ height: 48 })
    fireEvent.press(screen.getByLabelText('View'))
    fireEvent.press(await screen.findByLabelText('Compact'))
    fireEvent.press(screen.getByLabelText('Meta'))
    fireEvent.press(screen.getByLabelText('Duration'))
    expect(row()).toHaveStyle({ height: 32 })
    expect(heads()).toEqual([
      'Status',
      'Topic',
      'Id',
      'Created',
      'Error or wait',
      'Queue',
      'Due',
      'Runs',
      'Meta',
    ])
    expect(screen.getByText('tenant=acme')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Reset columns'))
    fireEvent.press(screen.getByLabelText('Comfortable'))
    expect(heads()).toContain('Duration')
  })

  it('selects rows as the list does', async () => {
    const { screen } = await open()
    fireEvent.press(screen.getByLabelText('Select'))
    fireEvent.press(screen.getByRole('checkbox', { name: /^report in reports/ }))
    expect(screen.getByText(/^1.job selected/)).toBeVisible()
  })
})

describe('a time', () => {
  it('is written from when to when, and refused where it is none', async () => {
    const { screen, asked } = await open()
    fireEvent.press(screen.getByLabelText('Time'))
    fireEvent.changeText(await screen.findByLabelText('From'), 'yesterday')
    fireEvent.press(screen.getByLabelText('Apply'))
    expect(screen.getByText('Times are in Europe/Berlin.')).toBeVisible()
    expect(screen.getByText('Write it like 2026-11-18 03:12.')).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('From'), '2026-11-18 04:00')
    fireEvent.changeText(screen.getByLabelText('To'), '2026-11-18 03:00')
    fireEvent.press(screen.getByLabelText('Apply'))
    expect(screen.getByText('It must be later than From.')).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('To'), '2026-11-18 05:00')
    fireEvent.press(screen.getByLabelText('Apply'))
    await screen.findByLabelText(/^Remove filter From 18.Nov, 04:00:00 UTC\+1 to 18.Nov, 05:00:00 UTC\+1/)
    expect(asked.at(-1)).toMatchObject({
      createdFrom: new Date(2026, 10, 18, 4),
      createdTo: new Date(2026, 10, 18, 5),
    })
  })
})
