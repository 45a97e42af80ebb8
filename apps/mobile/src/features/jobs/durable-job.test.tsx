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
    const words = /^Waiting for “bank” for 2.d$/
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
    const row = /^refund in mail, Suspended, Waiting for “bank” for 2.d, created/
    expect(await screen.findByLabelText(row)).toBeVisible()
  })

  it('that is being undone says so wherever its status is shown, also while an undo runs, and takes no cancel', async () => {
    const undoing = jobOf({
      ...SUSPENDED,
      ending: { since: ago(1).toISOString(), status: 'failed' },
      waits: { since: ago(1).toISOString(), for: [{ kind: 'retry', name: 'unbook', until: null }] },
    })
    const { screen } = await open({}, undoing)
    expect(await screen.findByText('Undoing, suspended')).toBeVisible()
    expect(await screen.findAllByText('Retrying undo “unbook”')).toHaveLength(2)
    fireEvent.press(screen.getByLabelText('Cancel'))
    expect(await screen.findByText('This job is being undone, and ends when that is done.')).toBeVisible()
    await act(async () => {})
    screen.unmount()

    const running = { ...undoing, id: JOB_ID.replace(/.$/, '9'), status: 'processing', waits: null } as const
    const list = await renderApp('/jobs', {
      answers: { 'jobs.list': () => pageOf([undoing, running]), 'topics.list': () => [] },
    })
    // Lists of suspended and of running jobs have them, too.
    expect(await list.screen.findByLabelText(/^refund in mail, Undoing, suspended, /)).toBeVisible()
    expect(list.screen.getByLabelText(/^refund in mail, Undoing, running, /)).toBeVisible()
  })

  it('tells what an agent did, and its undoing, in words and each thing once', async () => {
    const events = [
      ['plan_generated', { name: 'trip', plan: ['book'] }],
      ['node_started', { name: 'book' }],
      ['tool_called', { name: 'search', args: { q: 'hotel' } }],
      ['tool_returned', { name: 'search', error: { class: 'Error', message: 'no answer', stack: 'x' } }],
      ['node_finished', { name: 'book', result: { room: 7 } }],
      ['undoing', { status: 'cancelled' }],
      [
        'undo_retried',
        { name: 'refund', attempt: 2, error: { class: 'GatewayTimeoutError', message: 'late' } },
      ],
      ['steps_forgotten', { from: 'book', by: 'ada' }],
      ['sent', { to: 3 }],
    ] as const
    const { screen } = await open(
      {},
      jobOf({
        ...SUSPENDED,
        events: events.map(([type, data], n) => ({
          ...{ jobId: JOB_ID, version: n + 1, created: ago(1), type, data },
        })),
      }),
    )
    expect(await screen.findByText('Plan “trip” made')).toBeVisible()
    expect(screen.getByText('["book"]')).toBeVisible()
    expect(screen.getByText('Node “book” started')).toBeVisible()
    expect(screen.getByText('Tool “search” called')).toBeVisible()
    expect(screen.getByText('{"q":"hotel"}')).toBeVisible()
    expect(screen.getByText('Tool “search” failed')).toBeVisible()
    expect(screen.getByText('Error: no answer')).toBeVisible()
    expect(screen.getByText('Node “book” finished')).toBeVisible()
    expect(screen.getByText('{"room":7}')).toBeVisible()
    expect(screen.getByText('Undoing began; the job will end as cancelled')).toBeVisible()
    expect(screen.getByText('Undo “refund” failed, attempt 2')).toBeVisible()
    expect(screen.getByText('GatewayTimeoutError: late')).toBeVisible()
    expect(screen.getByText('Set to run again from step “book” by ada')).toBeVisible()
    expect(screen.getByText('sent')).toBeVisible()
    expect(screen.getByText('{"to":3}')).toBeVisible()
    // Neither a name nor an outcome is repeated as JSON.
    expect(screen.queryByText(/"name"|"status"|"from"|"stack"/)).toBeNull()
  })

  it('shows names in the order of their characters, whatever they contain', async () => {
    const step = told('step', { name: '\u202Edegrahc\u202C' })
    const waits = {
      since: ago(2).toISOString(),
      for: [{ kind: 'signal' as const, name: '\u202Eknab', until: null }],
    }
    const { screen } = await open({ 'jobs.timeline': () => storyOf(step) }, { ...SUSPENDED, waits })
    expect(await screen.findByText('Step “degrahc” finished')).toBeVisible()
    expect(screen.getAllByText(/^Waiting for “knab” for /)).toHaveLength(2)
  })

  it('counts the try that it is within', async () => {
    const { screen } = await open()
    expect(await screen.findByText(/^1 of \d/)).toBeVisible()
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
    expect(screen.getByText('123,456 bytes, left out here.')).toBeVisible()
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
    const state = {
      id: JOB_ID,
      topic: 'mail_digest',
      status: 'completed',
      run: 1,
      progress: null,
      updated: NOW,
    } as const
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

describe('a finished job', () => {
  const DONE = jobOf({ ...SUSPENDED, status: 'failed', waits: null, finishedAt: NOW })
  const story = () =>
    storyOf(
      told('step', { name: 'reserve' }),
      told('step', { name: 'charge' }),
      told('retried', { name: 'ship' }),
      told('step_failed', { name: 'ship', data: { class: 'Error', message: 'no route' } }),
    )
  const press = async (screen: Awaited<ReturnType<typeof open>>['screen'], nth: number) => {
    await screen.findByText('Step “charge” finished')
    const button = screen.getAllByLabelText('Rerun from this step')[nth]
    if (button) fireEvent.press(button)
  }

  it('runs again from a step, after it was said which of them that repeats', async () => {
    const asked: unknown[] = []
    const { screen } = await open(
      {
        'jobs.timeline': story,
        'jobs.requeueFrom': (input) => {
          asked.push(input)
          return input
        },
      },
      DONE,
    )
    expect(await screen.findByText('“ship” was tried again')).toBeVisible()
    await press(screen, 1)
    expect(await screen.findByText('Rerun from “charge”?')).toBeVisible()
    expect(screen.getByText('Runs again, with its effects: charge and ship.')).toBeVisible()
    expect(screen.getByText('Keeps its result, and does not run again: reserve.')).toBeVisible()
    expect(screen.getByText(/^Signals and answers that came later are forgotten/)).toBeVisible()
    expect(asked).toEqual([])
    fireEvent.press(screen.getByLabelText('Rerun'))
    expect(await screen.findByText('Set to run again from “charge”')).toBeVisible()
    expect(asked).toEqual([{ id: JOB_ID, step: 'charge' }])
  })

  it('says why it cannot run again from there', async () => {
    const { screen } = await open(
      {
        'jobs.timeline': story,
        'jobs.requeueFrom': () => {
          throw new OncueError('UNIQUE_KEY_LIVE', 'another live job holds the unique key')
        },
      },
      DONE,
    )
    await press(screen, 0)
    expect(await screen.findByText('No step was recorded before it: all run again.')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Rerun'))
    expect(await screen.findByText(/another live job holds the unique key/)).toBeVisible()
    expect(screen.getByText('Rerun from “reserve”?')).toBeVisible()
  })

  it('is not run again by a viewer, nor while it is live', async () => {
    const { screen } = await open({ 'jobs.timeline': story }, DONE, 'viewer')
    await press(screen, 0)
    expect(await screen.findByText(/You are a viewer/)).toBeVisible()
    expect(screen.queryByText('Rerun from “reserve”?')).toBeNull()
    await act(async () => {})
    screen.unmount()

    const live = await open({ 'jobs.timeline': story })
    expect(await live.screen.findByText('Step “charge” finished')).toBeVisible()
    expect(live.screen.queryByLabelText('Rerun from this step')).toBeNull()
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
