import { act, fireEvent, within } from 'expo-router/testing-library'
import { Dimensions } from 'react-native'
import { healthOf, queueOf } from '../../testing/health.ts'
import { JOB_ID, jobOf, pageOf } from '../../testing/job.ts'
import { renderApp } from '../../testing/render-app.tsx'

const USUAL = Dimensions.get('window')
const resize = (width: number) => Dimensions.set({ window: { ...USUAL, width }, screen: { ...USUAL, width } })

beforeEach(() => resize(1_440))
afterEach(() => act(() => resize(USUAL.width)))

async function open(options: Parameters<typeof renderApp>[1] = {}) {
  const paused: string[] = []
  const app = await renderApp('/workers', {
    ...options,
    answers: {
      'health.get': () => healthOf({ queues: [queueOf('mail'), queueOf('reports')] }),
      'topics.list': () => [],
      'workers.list': () => [],
      'jobs.list': () => pageOf([jobOf({ id: JOB_ID })]),
      'queues.pause': (request) => {
        paused.push((request as { queue: string }).queue)
        return null
      },
    },
  })
  const { screen } = app
  fireEvent.press(await screen.findByLabelText('Search or jump'))
  const [line] = await screen.findAllByPlaceholderText('A page, queue, topic, job id or action')
  const type = (text: string) => fireEvent.changeText(line as never, text)
  const press = (key: string) =>
    fireEvent(line as never, 'keyPress', { nativeEvent: { key }, preventDefault: () => {} })
  const results = () => screen.getAllByRole('option')
  const words = () => results().map((result) => within(result).getAllByText(/./)[0]?.props.children)
  const active = () =>
    results().findIndex(
      (result) => result.props.accessibilityState?.selected || result.props['aria-selected'],
    )
  return { ...app, paused, type, press, words, active }
}

describe('the palette', () => {
  it('leads to pages, the next one by key, and around at the end', async () => {
    const { press, words, active, app } = await open()
    expect(words().slice(0, 3)).toEqual(['Now', 'Failures', 'Jobs'])
    expect(active()).toBe(0)
    press('ArrowDown')
    expect(active()).toBe(1)
    press('ArrowUp')
    press('ArrowUp')
    expect(active()).toBe(words().length - 1)
    press('PageUp')
    press('ArrowDown')
    press('Enter')
    expect(app.getPathname()).toBe('/failures')
  })

  it('closes with Escape', async () => {
    const { press, screen } = await open()
    press('Escape')
    expect(screen.queryByRole('option')).toBeNull()
  })

  it('leads to a queue', async () => {
    const { type, press, app } = await open()
    type('reports')
    press('Enter')
    expect(app.getPathname()).toBe('/queues/reports')
  })

  it('pauses a queue', async () => {
    const { type, press, words, paused, screen } = await open()
    type('pause rep')
    expect(words()).toEqual(['Pause queue reports', 'Search jobs for “pause rep”'])
    press('Enter')
    expect(await screen.findByText('“reports” paused')).toBeVisible()
    expect(paused).toEqual(['reports'])
  })

  it('finds a job by the last digits of its id', async () => {
    const { type, screen, app } = await open()
    type('00000001')
    fireEvent.press(await screen.findByText('mail_digest …00000001'))
    expect(app.getPathname()).toBe(`/jobs/${JOB_ID}`)
  })

  it('searches for anything else', async () => {
    const { type, press, words, app } = await open()
    type('no such user')
    expect(words()).toEqual(['Search jobs for “no such user”'])
    press('Enter')
    expect(app.getPathname()).toBe('/jobs')
    expect(app.getSearchParams()).toEqual({ q: 'no such user' })
  })

  it('says why a viewer may not pause', async () => {
    const { type, press, screen } = await open({ role: 'viewer' })
    type('pause mail')
    press('Enter')
    expect(await screen.findByText('You are a viewer. Operators and admins can do this.')).toBeVisible()
  })

  it('lists the keys', async () => {
    const { type, press, screen } = await open()
    type('keys')
    press('Enter')
    expect(await screen.findByText('g j')).toBeVisible()
  })
})
