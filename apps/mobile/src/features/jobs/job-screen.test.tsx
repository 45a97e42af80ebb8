import { type JobError, OncueError, type WatchMessage } from '@oncue/sdk'
import type { TestAnswers } from '@oncue/sdk/testing'
import { act, fireEvent } from 'expo-router/testing-library'
import { NOW } from '../../testing/health.ts'
import { JOB_ID, jobOf } from '../../testing/job.ts'
import { renderApp } from '../../testing/render-app.tsx'

const ERROR: JobError = {
  ...{ class: 'SmtpTimeout', message: 'smtp.example.com did not answer', fingerprint: 'f00d' },
  stack:
    'SmtpTimeout: smtp.example.com did not answer\n    at send (/app/src/mail.ts:3:9)\n    at emit (/app/node_modules/pool/index.js:1:1)',
}

const FAILED = jobOf({
  ...{
    status: 'failed',
    lastError: ERROR,
    run: 2,
    retries: 1,
    startedAt: NOW,
    finishedAt: NOW,
    visibleAt: null,
  },
  events: [
    { jobId: JOB_ID, version: 1, type: 'log', created: NOW, data: { level: 'warn', message: 'slow' } },
    {
      ...{ jobId: JOB_ID, version: 2, type: 'run_failed', created: NOW },
      data: { run: 2, worker: 'w1', startedAt: NOW.toISOString(), error: ERROR },
    },
  ],
})

const COUNTS = {
  undoing: 0,
  suspended: 0,
  blocked: 0,
  pending: 0,
  processing: 0,
  completed: 1,
  failed: 1,
  cancelled: 0,
}

const treeJobOf = (id: string, status: 'completed' | 'failed', parentId: string | null = null) => ({
  ...{
    id,
    topic: 'render',
    queue: 'media',
    status,
    run: 1,
    retries: 0,
    maxRetries: 3,
    depsLeft: 0,
    waits: null,
  },
  ...{ runAt: NOW, created: NOW, startedAt: NOW, finishedAt: NOW, cancelAt: null, name: null, parentId },
  ...{ after: [], isSuspended: false, ending: null, error: null },
})

const open = (job = FAILED, answers: TestAnswers = {}, role: 'viewer' | 'admin' = 'admin') =>
  renderApp(`/jobs/${JOB_ID}`, {
    role,
    answers: { 'jobs.get': () => job, 'jobs.watch': () => stream().messages, ...answers },
  })

/** A stream that a test writes to. */
function stream() {
  const waiting: WatchMessage[] = []
  let wake = () => {}
  return {
    tell(message: WatchMessage) {
      waiting.push(message)
      wake()
    },
    messages: (async function* () {
      for (;;) {
        const message = waiting.shift()
        if (message) yield message
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    })(),
  }
}

describe('a job', () => {
  it("begins with its error: frames of the user's code open, those of libraries folded", async () => {
    const { screen } = await open()
    expect(await screen.findByText(/at send/)).toBeVisible()
    expect(screen.queryByText(/at emit/)).toBeNull()
    fireEvent.press(screen.getByLabelText(/^1.library frame/))
    expect(screen.getByText(/at emit/)).toBeVisible()
  })

  it('shows its timeline and its log', async () => {
    const { screen } = await open()
    expect(await screen.findByText('Enqueued')).toBeVisible()
    expect(screen.getByText('Run 2 failed')).toBeVisible()
    expect(screen.getByText(/warn: slow/)).toBeVisible()
  })

  it('says why it waits, and leads to the jobs that it waits for', async () => {
    const parent = '019a8b2c-7d10-7000-8000-00000000beef'
    const { app, screen } = await open(jobOf({ status: 'blocked', depsLeft: 1 }), {
      'jobs.explain': () => ({
        ...{ id: JOB_ID, status: 'blocked', position: null },
        reasons: [
          { kind: 'parents', text: 'Waits for 1 other job', until: null },
          { kind: 'paused', text: 'Queue mail is paused by ada, for another 12 min', until: NOW },
        ],
        waitsFor: [
          {
            ...{ id: parent, topic: 'render', queue: 'media', status: 'processing' },
            ...{ isSuspended: false, ending: null },
          },
        ],
      }),
    })
    expect(await screen.findByText('Waits for 1 other job')).toBeVisible()
    expect(screen.getByText('Queue mail is paused by ada, for another 12 min')).toBeVisible()
    fireEvent.press(screen.getByRole('link', { name: `Job ${parent}` }))
    expect(app.getPathname()).toBe(`/jobs/${parent}`)
  })

  it('names its family, each a tap away', async () => {
    const child = '019a8b2c-7d10-7000-8000-00000000beef'
    const { app, screen } = await open(FAILED, {
      'jobs.tree': () => ({
        ...{ id: JOB_ID, isComplete: true, childrenAreComplete: false, counts: COUNTS },
        jobs: [treeJobOf(JOB_ID, 'failed'), treeJobOf(child, 'completed', JOB_ID)],
      }),
    })
    expect(await screen.findByText(/^2.jobs: 1 failed, 1 completed$/)).toBeVisible()
    expect(screen.getByText('There may be more children.')).toBeVisible()
    fireEvent.press(screen.getByRole('link', { name: `Job ${child}, render, completed` }))
    expect(app.getPathname()).toBe(`/jobs/${child}`)
  })

  it('says for how long a run was snoozed', async () => {
    const data = { run: 1, worker: 'w1', startedAt: NOW.toISOString(), delayMs: 600_000 }
    const event = { jobId: JOB_ID, version: 1, type: 'run_snoozed', created: NOW, data }
    const { screen } = await open(jobOf({ run: 1, startedAt: NOW, events: [event] }))
    expect(await screen.findByText(/^Run 1 snoozed for 10.min/)).toBeVisible()
  })

  it('leads to the job that replaced it', async () => {
    const newer = '019a8b2c-7d10-7000-8000-00000000beef'
    const event = { jobId: JOB_ID, version: 1, type: 'replaced', created: NOW, data: { jobId: newer } }
    const { app, screen } = await open(jobOf({ status: 'cancelled', events: [event] }))
    expect(await screen.findByText('Replaced by a newer enqueue')).toBeVisible()
    fireEvent.press(screen.getByRole('link', { name: `Job ${newer}` }))
    expect(app.getPathname()).toBe(`/jobs/${newer}`)
  })

  it('shows its payload with masked values and every digit', async () => {
    const payload = { amount: 1234567890.12, users: [{ password: '[masked]' }] }
    const { screen } = await open(jobOf({ payload, masked: ['payload.users[0].password'] }))
    expect(await screen.findByText(/1234567890\.12/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('0, 1 entry'))
    expect(screen.getByText('masked')).toBeVisible()
  })

  it('is retried after confirmation', async () => {
    const asked: unknown[] = []
    const { screen } = await open(FAILED, {
      'jobs.requeue': (target) => {
        asked.push(target)
        return { done: 1, skipped: {} }
      },
    })
    fireEvent.press(await screen.findByLabelText('Retry'))
    expect(asked).toEqual([])
    fireEvent.press(await screen.findByLabelText(/^Retry 1.job/))
    expect(await screen.findByText('Retried 1')).toBeVisible()
    expect(asked).toEqual([{ ids: [JOB_ID] }])
  })

  it('says that a running job was asked to stop, not that it is cancelled', async () => {
    const { screen } = await open(jobOf({ status: 'processing', run: 1, startedAt: NOW }), {
      'jobs.cancel': () => ({ done: 1, skipped: {} }),
    })
    fireEvent.press(await screen.findByLabelText('Cancel'))
    fireEvent.press(await screen.findByLabelText(/^Cancel 1.job/))
    expect(await screen.findByText(/^Asked 1.job to stop$/)).toBeVisible()
    expect(screen.queryByText('Cancelled 1')).toBeNull()
  })

  it('keeps the sheet open while an action is being sent', async () => {
    let release = () => {}
    const { screen } = await open(FAILED, {
      'jobs.requeue': () => {
        const answer = new Promise<void>((resolve) => {
          release = resolve
        }).then(() => ({ done: 1, skipped: {} }))
        // The transport awaits a promise, which the answer's type does not say.
        return answer as never
      },
    })
    fireEvent.press(await screen.findByLabelText('Retry'))
    expect(await screen.findByText('mail_digest in mail · …00000001')).toBeVisible()
    // Nothing about other jobs: there is only this one.
    expect(screen.getByText('Runs again from the start, with all retries.')).toBeVisible()
    fireEvent.press(screen.getByLabelText(/^Retry 1.job/))
    await screen.findByRole('button', { name: /^Retry 1.job/, busy: true })
    fireEvent.press(screen.getByLabelText('Close'))
    expect(screen.getByText('Retry this job?')).toBeVisible()
    await act(async () => release())
    expect(await screen.findByText('Retried 1')).toBeVisible()
    expect(screen.queryByText('Retry this job?')).toBeNull()
  })

  it('says why an action had no effect', async () => {
    const { screen } = await open(FAILED, {
      'jobs.requeue': () => ({ done: 0, skipped: { INVALID_STATE: 1 } }),
    })
    fireEvent.press(await screen.findByLabelText('Retry'))
    fireEvent.press(await screen.findByLabelText(/^Retry 1.job/))
    expect(await screen.findByText('Nothing was retried: already waiting or running')).toBeVisible()
  })

  it('says why an action makes no sense', async () => {
    const { screen } = await open()
    fireEvent.press(await screen.findByLabelText('Cancel'))
    expect(await screen.findByText('This job has already failed.')).toBeVisible()
  })

  it('appends new events while it is open', async () => {
    const live = stream()
    let job = jobOf({ status: 'processing', run: 1, startedAt: NOW, lockedBy: 'w1' })
    const { screen } = await open(job, { 'jobs.get': () => job, 'jobs.watch': () => live.messages })
    expect(await screen.findByText('Run 1 is running')).toBeVisible()
    await act(async () =>
      live.tell({
        type: 'event',
        event: { jobId: JOB_ID, version: 1, type: 'sent', data: { to: 3 }, created: NOW },
      }),
    )
    expect(await screen.findByText('sent')).toBeVisible()
    job = { ...job, status: 'completed', finishedAt: NOW, result: { ok: true } }
    await act(async () =>
      live.tell({
        type: 'state',
        state: {
          id: JOB_ID,
          topic: 'mail_digest',
          status: 'completed',
          run: 1,
          progress: null,
          updated: NOW,
        },
      }),
    )
    expect(await screen.findByText('Run 1 completed')).toBeVisible()
    expect(screen.getByText('Result')).toBeVisible()
    expect(screen.getByText('sent')).toBeVisible()
  })

  it('says in the sheet that its status changed meanwhile', async () => {
    const live = stream()
    let job = jobOf({ status: 'pending' })
    const { screen } = await open(job, { 'jobs.get': () => job, 'jobs.watch': () => live.messages })
    fireEvent.press(await screen.findByLabelText('Cancel'))
    await screen.findByText('Cancel this job?')
    job = { ...job, status: 'processing', run: 1, startedAt: NOW }
    await act(async () =>
      live.tell({
        type: 'state',
        state: {
          id: JOB_ID,
          topic: 'mail_digest',
          status: 'processing',
          run: 1,
          progress: null,
          updated: NOW,
        },
      }),
    )
    expect(
      await screen.findByText('The job has changed: waiting when you looked, running now.'),
    ).toBeVisible()
  })

  it('shows its progress', async () => {
    const { screen } = await open(jobOf({ status: 'processing', run: 1, progress: { done: 4, total: 10 } }))
    expect(await screen.findByText('40%')).toBeVisible()
  })

  it('says that it is gone', async () => {
    const { screen } = await open(FAILED, {
      'jobs.get': () => {
        throw new OncueError('JOB_NOT_FOUND', 'There is no job')
      },
    })
    expect(await screen.findByText('No such job')).toBeVisible()
    expect(screen.getByText(/kept for a limited time/)).toBeVisible()
  })

  it('returns to the list when it was deleted', async () => {
    const { app, screen } = await open(FAILED, {
      'jobs.delete': () => ({ done: 1, skipped: {} }),
      'jobs.list': () => ({
        items: [],
        total: 0,
        totalIsExact: true,
        nextCursor: null,
        limit: 100,
        offset: 0,
      }),
      'topics.list': () => [],
    })
    fireEvent.press(await screen.findByLabelText('More'))
    fireEvent.press(await screen.findByLabelText('Delete'))
    fireEvent.press(await screen.findByLabelText(/^Delete 1.job/))
    expect(await screen.findByText('No jobs yet')).toBeVisible()
    expect(app.getPathname()).toBe('/jobs')
  })

  it('is readable to a viewer, with its actions locked', async () => {
    const { screen } = await open(FAILED, {}, 'viewer')
    fireEvent.press(await screen.findByLabelText('Retry'))
    expect(await screen.findByText(/You are a viewer/)).toBeVisible()
    expect(screen.getByText(/at send/)).toBeVisible()
  })

  it('is run now while it waits for its next try', async () => {
    const asked: unknown[] = []
    const later = jobOf({ status: 'pending', retries: 1, runAt: new Date(Date.now() + 3_600_000) })
    const { screen } = await open(later, {
      'jobs.runNow': (request: unknown) => {
        asked.push(request)
        return { done: 1, skipped: {} }
      },
    })
    fireEvent.press(await screen.findByLabelText('Run now'))
    fireEvent.press(await screen.findByRole('button', { name: /^Run 1.job now/ }))
    expect(await screen.findByText('Started 1')).toBeVisible()
    expect(asked).toEqual([{ ids: [JOB_ID] }])
  })
})

describe('another payload', () => {
  const TOPIC = {
    ...{ topic: FAILED.topic, output: {}, policy: {}, announced: NOW, clash: null },
    input: { type: 'object', properties: { userId: { type: 'string' } }, required: ['userId'] },
  }
  const edit = async (answers: TestAnswers = {}, role: 'viewer' | 'admin' = 'admin') => {
    const app = await open(FAILED, { 'topics.list': () => [TOPIC], ...answers }, role)
    fireEvent.press(await app.screen.findByLabelText('More'))
    return app
  }
  const write = async (screen: Awaited<ReturnType<typeof open>>['screen'], payload: string) => {
    fireEvent.press(await screen.findByLabelText('Edit payload and retry'))
    fireEvent.changeText(await screen.findByLabelText('Payload'), payload)
  }

  it('is checked while it is typed, compared, and sent with the job as it was seen', async () => {
    const sent: unknown[] = []
    const { screen } = await edit({
      'jobs.requeueWithPayload': (input) => {
        sent.push(input)
        return { id: JOB_ID, changed: ['payload.userId'] }
      },
    })
    await write(screen, '{"userId": 7,}')
    expect(await screen.findByText(/^This is not valid JSON/)).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('Payload'), '{"userId": 7}')
    expect(await screen.findByText('payload.userId must be a text')).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('Payload'), '{"userId": "456"}')
    fireEvent.press(screen.getByLabelText('Review the changes'))
    expect(await screen.findByText('payload.userId')).toBeVisible()
    expect(screen.getByText('+ "456"')).toBeVisible()
    const hold = screen.getByLabelText('Hold to retry')
    fireEvent(hold, 'pressIn', { nativeEvent: {} })
    await act(async () => void jest.advanceTimersByTime(2_000))
    const { id, run, updated } = FAILED
    expect(sent).toEqual([{ id, run, updated, payload: { userId: '456' } }])
  })

  it('says that the job has changed meanwhile', async () => {
    const { screen } = await edit({
      'jobs.requeueWithPayload': () => {
        throw new OncueError('JOB_CHANGED', 'Job has changed since it was read')
      },
    })
    await write(screen, '{"userId": "456"}')
    fireEvent.press(screen.getByLabelText('Review the changes'))
    fireEvent(await screen.findByLabelText('Hold to retry'), 'pressIn', { nativeEvent: {} })
    await act(async () => void jest.advanceTimersByTime(2_000))
    expect(await screen.findByText(/has changed since it was read/)).toBeVisible()
  })

  it('is locked for those who may not, with the reason', async () => {
    const { screen } = await edit({}, 'viewer')
    expect(await screen.findByLabelText('Edit payload and retry')).toBeDisabled()
  })
})
