import { act, within } from 'expo-router/testing-library'
import { Dimensions, StyleSheet } from 'react-native'
import { alertOf } from '../../testing/alerts.ts'
import { bulkOperationOf } from '../../testing/failures.ts'
import { healthOf } from '../../testing/health.ts'
import { pageOf } from '../../testing/job.ts'
import { renderApp } from '../../testing/render-app.tsx'

const USUAL = Dimensions.get('window')
const resize = (differs: Partial<typeof USUAL>) => {
  const window = { ...USUAL, fontScale: 1, ...differs }
  Dimensions.set({ window, screen: window })
}

afterEach(() => act(() => resize(USUAL)))

describe('a way back', () => {
  const workers = { 'workers.list': () => [] }

  it('is missing where the rail has the screen as an entry', async () => {
    resize({ width: 1_440, height: 900 })
    const { screen } = await renderApp('/workers', { answers: workers })
    expect(await screen.findByRole('heading', { name: 'Workers' })).toBeVisible()
    expect(screen.queryByLabelText('Back')).toBeNull()
  })

  it('is missing beside an opened row too, so that the title does not move', async () => {
    resize({ width: 1_440, height: 900 })
    const { screen } = await renderApp('/workers/w1', { answers: workers })
    expect(await screen.findByRole('heading', { name: 'Workers' })).toBeVisible()
    expect(screen.queryByLabelText('Back')).toBeNull()
  })

  it('is missing on every tab of a phone, and there elsewhere', async () => {
    resize({ width: 390, height: 844 })
    const answers = { ...workers, 'topics.list': () => [], 'jobs.list': () => pageOf([]) }
    const tab = await renderApp('/jobs', { answers })
    expect(await tab.screen.findByText('No jobs yet')).toBeVisible()
    expect(tab.screen.queryByLabelText('Back')).toBeNull()
    const other = await renderApp('/workers', { answers })
    expect(await other.screen.findByLabelText('Back')).toBeVisible()
  })
})

describe('a list beside its detail', () => {
  beforeEach(() => resize({ width: 1_440, height: 900 }))

  it('has its filters in one row, so that its rows have the room', async () => {
    const answers = { 'jobs.list': () => pageOf([]) }
    const alone = await renderApp('/jobs', { answers })
    await alone.screen.findByText('No jobs yet')
    expect(alone.screen.queryByTestId('chips')).toBeNull()
    const { screen } = await renderApp('/jobs/01900000-0000-7000-8000-000000000001', { answers })
    expect(await screen.findByTestId('chips')).toBeVisible()
  })

  it('asks to choose only where there is something to choose from', async () => {
    const { screen } = await renderApp('/failures', { answers: { 'jobs.failures': () => [] } })
    expect(await screen.findByText('No failures')).toBeVisible()
    expect(screen.queryByText('Choose a failure')).toBeNull()
    // Nor is there an empty pane, nor anything to select.
    expect(screen.queryByTestId('beside')).toBeNull()
    expect(screen.queryByLabelText('Select')).toBeNull()
  })

  it('keeps its buttons when an alert is opened, so that no row moves', async () => {
    const alerts = [alertOf(1), alertOf(2)]
    const [opened] = alerts
    const { screen } = await renderApp(`/alerts/${opened?.id}`, {
      answers: {
        'alerts.list': () => ({ items: alerts, nextCursor: null }),
        'alerts.get': () => alertOf(1),
      },
    })
    expect(await screen.findByLabelText('Acknowledge all 2')).toBeVisible()
  })
})

it('the bar of a bulk operation cuts no number where text is large', async () => {
  resize({ width: 390, height: 844, fontScale: 2 })
  const running = bulkOperationOf({ done: 225, total: 5_000, by: { id: 't', name: 'Grace' } })
  const { screen } = await renderApp('/queues', {
    answers: { 'health.get': () => healthOf({ bulkOperations: [running] }) },
  })
  const words = await screen.findByText(/^Retrying 225 of 5,000/)
  expect(words.props.numberOfLines).toBeUndefined()
})

it('a count on a tab is no larger than the label, where text is large: its icon stays in sight', async () => {
  resize({ width: 390, height: 844, fontScale: 2 })
  const { screen } = await renderApp('/queues', {
    answers: { 'health.get': () => healthOf({ questions: 3 }) },
  })
  const count = within(await screen.findByTestId('question-count')).getByText('3')
  const sizeOf = ({ props }: typeof count) => StyleSheet.flatten(props.style).fontSize
  expect(sizeOf(count)).toBe(sizeOf(screen.getByText('More')))
})
