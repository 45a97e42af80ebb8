import { OncueError } from '@oncue/sdk'
import type { TestAnswers } from '@oncue/sdk/testing'
import { act, fireEvent } from 'expo-router/testing-library'
import { topicOf } from '../../testing/admin.ts'
import { minutesAgo } from '../../testing/alerts.ts'
import { NOW } from '../../testing/health.ts'
import { JOB_ID, jobOf, pageOf } from '../../testing/job.ts'
import { questionOf } from '../../testing/questions.ts'
import { renderApp } from '../../testing/render-app.tsx'
import type { Story } from './timeline.ts'

const ago = (days: number) => minutesAgo(days * 24 * 60)

const SUSPENDED = jobOf({
  ...{ topic: 'refund', status: 'blocked', visibleAt: null, run: 1, startedAt: ago(2), created: ago(2) },
  waits: { since: ago(2).toISOString(), for: [{ kind: 'signal', name: 'bank', until: null }] },
})

const told = (kind: Story['entries'][number]['kind'], more: Partial<Story['entries'][number]> = {}) => ({
  ...{ at: ago(1), kind, name: null, by: null, until: null, data: null, size: null },
  ...more,
})
const storyOf = (...entries: Story['entries']): Story => ({
  ...{ id: JOB_ID, entries, isComplete: true, masked: [] },
})

const SIGNALS = {
  bank: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  recall: {},
}

const open = (answers: TestAnswers = {}, job = SUSPENDED, role: 'viewer' | 'operator' = 'operator') =>
  renderApp(`/jobs/${JOB_ID}`, {
    role,
    answers: {
      'jobs.get': () => job,
      'jobs.timeline': () => storyOf(),
      'jobs.questions': () => [],
      'topics.list': () => [topicOf('refund', { policy: { queue: 'mail', signals: SIGNALS } })],
      ...answers,
    },
  })

let end = () => {}

describe('a suspended job', () => {
  it('says what it waits for, in the words of the lists, and is not late', async () => {
    const words = /^Waiting for bank since 2.d$/
    const { screen } = await open({
      'jobs.explain': () => ({
        ...{ id: JOB_ID, status: 'blocked', position: null, waitsFor: [] },
        reasons: [{ kind: 'suspended', text: 'Suspended: waits for signal bank', until: null }],
      }),
    })
    // Why it waits, and at the end of its timeline.
    expect(await screen.findAllByText(words)).toHaveLength(2)
    expect(screen.getByText('Suspended')).toBeVisible()
    expect(screen.queryByText('Suspended: waits for signal bank')).toBeNull()
  })

  it('says it in its row', async () => {
    const { screen } = await renderApp('/jobs', {
      answers: { 'jobs.list': () => pageOf([SUSPENDED]), 'topics.list': () => [] },
    })
    const row = /^refund in mail, Suspended, Waiting for bank since 2.d, created/
    expect(await screen.findByLabelText(row)).toBeVisible()
  })

  it('tells what was done and by whom, with data folded, marked where they are cut', async () => {
    const long = { text: 'x'.repeat(300) }
    const { app, screen } = await open({
      'jobs.timeline': () => ({
        ...storyOf(
          told('step', { name: 'charge', data: long }),
          told('step', { name: 'render', size: 123_456 }),
          told('step_failed', { name: 'send', data: { class: 'SmtpTimeout', message: 'no answer' } }),
          told('answer', { name: 'approve', by: 'ada', data: { value: { ok: true } } }),
          told('spawned', { data: { jobs: [{ name: 'notify#1', id: 'child' }] } }),
          told('children', { data: { failed: [] } }),
          told('timeout', { name: 'bank' }),
        ),
        isComplete: false,
      }),
    })
    expect(await screen.findByText('Step “charge” finished')).toBeVisible()
    expect(screen.queryByText(/^text: "x{300}"$/)).toBeNull()
    fireEvent.press(screen.getByText('Show all'))
    expect(screen.getByText(/"x{300}"$/)).toBeVisible()
    expect(screen.getByText('123,456 characters, left out here.')).toBeVisible()
    expect(screen.getByText('SmtpTimeout: no answer')).toBeVisible()
    expect(screen.getByText('Answered by ada')).toBeVisible()
    expect(screen.getByText('{"ok":true}')).toBeVisible()
    expect(screen.getByText('All children completed')).toBeVisible()
    expect(screen.getByText('“bank” timed out')).toBeVisible()
    expect(screen.getByText(/^Older entries are left out/)).toBeVisible()
    fireEvent.press(screen.getByRole('link', { name: 'Job child' }))
    expect(app.getPathname()).toBe('/jobs/child')
  })

  it('draws the newest of a thousand entries, and more when asked', async () => {
    const steps = Array.from({ length: 1_000 }, (_, n) => told('step', { name: `s${n}` }))
    const { screen } = await open({ 'jobs.timeline': () => storyOf(...steps) })
    expect(await screen.findByText('Step “s999” finished')).toBeVisible()
    expect(screen.getByText('Enqueued')).toBeVisible()
    expect(screen.getAllByText(/^Step /).length).toBeLessThan(60)
    expect(screen.queryByText('Step “s900” finished')).toBeNull()
    fireEvent.press(screen.getByLabelText(/^Show 100 of \d+.earlier entries$/))
    expect(screen.getByText('Step “s900” finished')).toBeVisible()
    expect(screen.getAllByText(/^Step /).length).toBeLessThan(160)
  })

  it('reads the end of its story when its stream ends with it', async () => {
    let job = jobOf({ ...SUSPENDED, status: 'processing', waits: null })
    let story = storyOf()
    const state = { id: JOB_ID, status: 'completed', run: 1, progress: null, updated: NOW } as const
    const finished = new Promise<void>((resolve) => {
      end = resolve
    })
    const { screen } = await open({
      'jobs.get': () => job,
      'jobs.timeline': () => story,
      'jobs.watch': () =>
        (async function* () {
          await finished
          yield { type: 'state' as const, state }
        })(),
    })
    expect(await screen.findByText('Run 1 is running')).toBeVisible()
    job = { ...job, status: 'completed', finishedAt: NOW }
    story = storyOf(told('children', { data: { failed: [] } }))
    await act(async () => end())
    expect(await screen.findByText('All children completed')).toBeVisible()
  })

  it('has its open questions on top', async () => {
    const { screen } = await open({ 'jobs.questions': () => [questionOf({ refused: 'a note is missing' })] })
    expect(await screen.findByText('Refund 5 €?')).toBeVisible()
    expect(screen.getByText('The last answer was refused: a note is missing')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Answer'))
    expect(await screen.findByText('Pay it back?')).toBeVisible()
  })
})

describe('a signal', () => {
  it('that it waits for is chosen, filled by its schema, and sent', async () => {
    const sent: unknown[] = []
    const { screen } = await open({
      'jobs.signal': (input) => {
        sent.push(input)
        return { ...input, topic: 'refund', queue: 'mail' }
      },
    })
    fireEvent.press(await screen.findByLabelText('Signal…'))
    expect(await screen.findByText('Signal “bank”')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Send'))
    expect(await screen.findByText('Choose one.')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Yes'))
    fireEvent.press(screen.getByLabelText('Send'))
    expect(await screen.findByText('Sent bank to refund …00000001')).toBeVisible()
    expect(sent).toMatchObject([{ id: JOB_ID, name: 'bank', data: { ok: true } }])
  })

  it('is one of those that the topic announced, and what is wrong is said at its field', async () => {
    const { screen } = await open({
      'jobs.signal': () => {
        const details = { path: 'signal.ok' }
        throw new OncueError('INVALID_SIGNAL', 'signal.ok: must be true (schema of refund)', { details })
      },
    })
    fireEvent.press(await screen.findByLabelText('Signal…'))
    fireEvent.press(await screen.findByLabelText('Another signal'))
    expect(screen.getByLabelText('recall')).toBeVisible()
    fireEvent.press(screen.getByLabelText('bank'))
    fireEvent.press(await screen.findByLabelText('No'))
    fireEvent.press(screen.getByLabelText('Send'))
    expect(await screen.findByText(/^signal\.ok: must be true/)).toBeVisible()
  })

  it('is locked for a viewer, with the reason', async () => {
    const { screen } = await open({}, SUSPENDED, 'viewer')
    fireEvent.press(await screen.findByLabelText('Signal…'))
    expect(await screen.findByText(/You are a viewer/)).toBeVisible()
  })

  it('is not for a finished job', async () => {
    const { screen } = await open({}, { ...SUSPENDED, status: 'completed', waits: null })
    fireEvent.press(await screen.findByLabelText('More'))
    fireEvent.press(await screen.findByLabelText('Send a signal'))
    expect(await screen.findByText('Finished jobs take no signals.')).toBeVisible()
  })
})
