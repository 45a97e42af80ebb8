import type { TestAnswers } from '@oncue/sdk/testing'
import { fireEvent } from 'expo-router/testing-library'
import { syncClock } from '../../lib/clock.ts'
import { groupOf } from '../../testing/failures.ts'
import { healthOf, NOW, queueOf } from '../../testing/health.ts'
import { offline, renderApp } from '../../testing/render-app.tsx'

const STATS = {
  ...{ blocked: 0, pending: 7, waiting: 7, scheduled: 0, retrying: 0, suspended: 0, processing: 1 },
  ...{ completed: 52, failed: 24, cancelled: 0 },
}
const WORKER = {
  ...{ id: 'w1', host: 'worker-1', pid: 42, queues: ['mail'], concurrency: 10, version: '1.0.0' },
  ...{ startedAt: NOW, lastBeat: NOW, missingSince: null, running: 3, ended: null },
}

const ANSWERS: TestAnswers = {
  'jobs.stats': () => ({ ...STATS, successRate: 0.9, averageRunMs: 12 }),
  'jobs.series': () => [],
  'workers.list': () => [WORKER],
}

const healthWith = (differs: Parameters<typeof queueOf>[1]) => ({
  'health.get': () => healthOf({ queues: [queueOf('mail', differs)] }),
})

describe('a queue', () => {
  it('has its numbers, and says which of them is bad', async () => {
    const trouble = { waiting: 1_204, failureRate: 0.14, running: 3, capacity: 10 }
    const { screen } = await renderApp('/queues/mail', {
      answers: { ...ANSWERS, ...healthWith({ state: 'failing', ...trouble }) },
    })
    expect(await screen.findByLabelText(/^Waiting: 1.204, ready to run/)).toBeVisible()
    expect(screen.getByLabelText(/^Failure rate: 14%, over 10%/)).toBeVisible()
    expect(screen.getByLabelText('Running: 3 of 10, slots free')).toBeVisible()
    expect(screen.getByLabelText('Oldest waiting: –, nothing waiting')).toBeVisible()
  })

  it('has one number for the same jobs, in its tiles and in its chips', async () => {
    const { screen } = await renderApp('/queues/mail', {
      answers: { ...ANSWERS, ...healthWith({ waiting: 8, running: 2, capacity: 10 }) },
    })
    expect(await screen.findByLabelText(/^Waiting: 8, ready to run/)).toBeVisible()
    expect(await screen.findByLabelText('Waiting 8')).toBeVisible()
    expect(screen.getByLabelText('Running 2')).toBeVisible()
    expect(screen.getByLabelText('Completed 52')).toBeVisible()
  })

  it('does not judge a failure rate of a few runs', async () => {
    const few = { failureRate: 1, isRateJudged: false }
    const { screen } = await renderApp('/queues/mail', { answers: { ...ANSWERS, ...healthWith(few) } })
    expect(await screen.findByLabelText(/^Failure rate: 100%, too few runs in 15.min/)).toBeVisible()
  })

  it('says when it will be empty', async () => {
    const busy = { waiting: 68, running: 2, throughput: 9.8 }
    const { screen } = await renderApp('/queues/mail', {
      answers: { ...ANSWERS, ...healthWith({ ...busy, drainMs: 402_000 }) },
    })
    expect(await screen.findByText(/^2.slots busy, 9\.8\/min: empty in about 7.min$/)).toBeVisible()
  })

  it('says why its jobs wait, and what more slots would change', async () => {
    const drain = {
      ...{ text: '9.8/min done, 0.2/min arriving: empty in about 7 min; 3 min with 4 slots', perMinute: 9.8 },
      ...{ slots: 2, busy: 2, aboutMs: 420_000, withSlots: { slots: 4, aboutMs: 180_000 } },
    }
    const reasons = [{ kind: 'slots_busy', text: 'All slots are busy (2 of 2)', until: null } as const]
    const { screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        ...healthWith({ waiting: 69, drainMs: 402_000 }),
        'queues.explain': ({ queue }) => ({ queue, waiting: 69, reasons, drain }),
      },
    })
    expect(await screen.findByText('Why are jobs waiting?')).toBeVisible()
    expect(screen.getByText('All slots are busy (2 of 2)')).toBeVisible()
    expect(screen.getByText(drain.text)).toBeVisible()
    expect(screen.queryByText(/slots busy, /)).toBeNull()
  })

  it('says that its backlog does not shrink', async () => {
    const { screen } = await renderApp('/queues/mail', {
      answers: { ...ANSWERS, ...healthWith({ waiting: 68, running: 1 }) },
    })
    expect(await screen.findByText(/^1.slot busy, 12\/min: the backlog does not shrink$/)).toBeVisible()
  })

  it('draws throughput and latency, describes them in words, and shows a longer span', async () => {
    const steps: unknown[] = []
    const { screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        'jobs.series': ({ stepMinutes }) => {
          steps.push(stepMinutes)
          return []
        },
      },
    })
    expect(await screen.findByLabelText(/^Chart of Runs per minute\. completed: now 0/)).toBeVisible()
    expect(screen.getByLabelText(/^Chart of Wait to start\. p50: nothing yet/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('24 h'))
    expect(await screen.findByLabelText(/^Chart of Run time/)).toBeVisible()
    expect(steps).toEqual([1, 10])
  })

  it('moves one crosshair over all charts, tells each moment, and marks deploys', async () => {
    syncClock(NOW)
    const none = { p50: null, p95: null, p99: null }
    const pointAt = (at: Date, completed: number) => ({
      ...{ minute: at, completed, failed: 1, cancelled: 0, retried: 0 },
      ...{ wait: { p50: 20 * completed, p95: 900_000, p99: null }, run: none },
    })
    const minutesBefore = (at: unknown, minutes: number) => new Date(Number(at) - minutes * 60_000)
    const { screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        'jobs.series': ({ to }) => [pointAt(minutesBefore(to, 2), 7), pointAt(minutesBefore(to, 1), 12)],
        'workers.list': () => [{ ...WORKER, startedAt: minutesBefore(NOW.getTime(), 1.5) }],
      },
    })
    const textOf = (name: RegExp) => screen.getByRole('slider', { name }).props['aria-valuetext']
    const runs = await screen.findByRole('slider', {
      name: /^Chart of Runs per minute\. .* deploy 1\.0\.0 at \d\d:\d\d.UTC\+[12]\.$/,
    })
    expect(textOf(/^Chart of Runs/)).toMatch(/^\d\d:\d\d.UTC\+[12], completed 12, failed 1/)
    fireEvent(runs, 'accessibilityAction', { nativeEvent: { actionName: 'decrement' } })
    fireEvent(runs, 'accessibilityAction', { nativeEvent: { actionName: 'decrement' } })
    expect(textOf(/^Chart of Runs/)).toMatch(/completed 7, failed 1/)
    expect(textOf(/^Chart of Wait/)).toMatch(/p50 140.ms, p95 15.min/)
    expect(textOf(/^Chart of Run time/)).toMatch(/p50 unknown/)
  })

  it('offers to undo as soon as the call returns, not when all is read anew', async () => {
    let isPaused = false
    let askedAnew = 0
    const { screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        'health.get': () => {
          if (!isPaused) return healthOf({ queues: [queueOf('mail')] })
          askedAnew += 1
          return new Promise(() => {}) as never
        },
        'queues.pause': () => {
          isPaused = true
          return { queue: 'mail' } as never
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Pause'))
    expect(await screen.findByText('“mail” paused')).toBeVisible()
    expect(screen.getByLabelText('Undo')).toBeVisible()
    expect(askedAnew).toBe(1)
  })

  it('names its errors, one tap away', async () => {
    const asked: unknown[] = []
    const { app, screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        'jobs.failures': (input) => {
          asked.push([input?.queue, input?.sort])
          return [groupOf('f00d', { retrying: 7 })]
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^SmtpTimeout: .* 7 retrying · 312 gave up/))
    expect(app.getPathname()).toBe('/failures/f00d')
    expect(asked[0]).toEqual(['mail', 'largest'])
  })

  it('calls jobs that run again after a failure retrying, in the tile and among the states', async () => {
    const { app, screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        ...healthWith({ waiting: 0, scheduled: 127, suspended: 3 }),
        'jobs.stats': () => ({
          ...{ ...STATS, pending: 127, waiting: 0, scheduled: 2, retrying: 125 },
          ...{ successRate: 0.9, averageRunMs: 12 },
        }),
      },
    })
    expect(await screen.findByLabelText(/^Waiting: 0, 125 retrying, 2 scheduled, 3 suspended/)).toBeVisible()
    expect(screen.getByLabelText('Waiting 0')).toBeVisible()
    expect(screen.getByLabelText('Scheduled 2')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Retrying 125'))
    expect(app.getPathnameWithParams()).toBe('/jobs?queue=mail&status=retrying')
  })

  it('leads to the jobs in a state', async () => {
    const { app, screen } = await renderApp('/queues/mail', { answers: ANSWERS })
    fireEvent.press(await screen.findByLabelText('Failed 24'))
    expect(app.getPathnameWithParams()).toBe('/jobs?queue=mail&status=failed')
  })

  it('names its workers', async () => {
    const { screen } = await renderApp('/queues/mail', { answers: ANSWERS })
    expect(await screen.findByLabelText('Worker worker-1, process 42, alive, runs 3 of 10')).toBeVisible()
  })

  it('says that no worker serves it', async () => {
    const { screen } = await renderApp('/queues/mail', {
      answers: { ...ANSWERS, 'workers.list': () => [{ ...WORKER, queues: ['other'] }] },
    })
    expect(await screen.findByText(/No worker serves this queue/)).toBeVisible()
  })

  it('has a banner while it is paused, and can be resumed', async () => {
    const resumed: string[] = []
    const paused = { at: new Date(NOW.getTime() - 7_200_000), by: 'anna', until: null }
    const { screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        ...healthWith({ state: 'paused', paused }),
        'queues.resume': ({ queue }) => {
          resumed.push(queue)
          return null
        },
      },
    })
    expect(await screen.findByText(/^Paused by anna, 2.h/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Resume'))
    expect(await screen.findByText('“mail” resumed')).toBeVisible()
    expect(resumed).toEqual(['mail'])
  })

  it('is not on time while it is paused, whatever waits', async () => {
    const paused = { at: new Date(NOW.getTime() - 7_200_000), by: 'anna', until: null }
    const oldestWaiting = new Date(NOW.getTime() - 30_000)
    const { screen } = await renderApp('/queues/mail', {
      answers: { ...ANSWERS, ...healthWith({ state: 'paused', paused, waiting: 2, oldestWaiting }) },
    })
    expect(await screen.findByLabelText(/^Oldest waiting: .*, paused$/)).toBeVisible()
    expect(screen.queryByText('on time')).toBeNull()
  })

  it('is paused for a while, which is undone by resuming', async () => {
    const said: unknown[] = []
    const { screen } = await renderApp('/queues/mail', {
      role: 'operator',
      answers: {
        ...ANSWERS,
        'queues.pause': (input) => {
          said.push(input)
          return null
        },
        'queues.resume': (input) => {
          said.push(input)
          return null
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Pause for…'))
    expect(await screen.findByLabelText('Pause: Until resumed')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Pause: 15 minutes'))
    expect(await screen.findByText(/^“mail” paused for 15.min$/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Undo'))
    expect(await screen.findByText('“mail” resumed')).toBeVisible()
    expect(said).toEqual([{ queue: 'mail', forSeconds: 900 }, { queue: 'mail' }])
  })

  it('is paused again for the time that was left', async () => {
    const again: unknown[] = []
    const paused = { at: NOW, by: 'anna', until: new Date(Date.now() + 3_600_000) }
    const { screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        'health.get': () =>
          healthOf({ now: new Date(), queues: [queueOf('mail', { state: 'paused', paused })] }),
        'queues.resume': () => null,
        'queues.pause': ({ forSeconds }) => {
          again.push(Math.round((forSeconds ?? 0) / 60))
          return null
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Resume'))
    fireEvent.press(await screen.findByLabelText('Undo'))
    expect(await screen.findByText(/^“mail” paused for /)).toBeVisible()
    expect(again).toEqual([60])
  })

  it('changes its limits, and takes that back', async () => {
    const wanted: unknown[] = []
    const { screen } = await renderApp('/queues/mail', {
      answers: {
        ...ANSWERS,
        ...healthWith({ limit: { maxRunning: 5, rate: null } }),
        'queues.limit': ({ limit }) => {
          wanted.push(limit)
          return null
        },
      },
    })
    expect(await screen.findByText('At most 5 at once')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Change'))
    fireEvent.changeText(await screen.findByLabelText('Max running at once'), 'ten')
    fireEvent.press(screen.getByLabelText('Save these limits'))
    expect(await screen.findByText(/A whole number from 0/)).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('Max running at once'), '')
    fireEvent.changeText(screen.getByLabelText('Max starts'), '100')
    fireEvent.changeText(screen.getByLabelText('per … seconds'), '60')
    fireEvent.press(screen.getByLabelText('Save these limits'))
    fireEvent.press(await screen.findByLabelText('Undo'))
    await screen.findByText('At most 5 at once')
    expect(wanted).toEqual([
      { maxRunning: null, rate: { count: 100, intervalMs: 60_000 } },
      { maxRunning: 5, rate: null },
    ])
  })

  it('has to be held in production', async () => {
    const { screen } = await renderApp('/queues/mail', {
      answers: { ...ANSWERS, 'health.get': () => healthOf({ environment: 'production' }) },
    })
    fireEvent.press(await screen.findByLabelText('Change'))
    expect(await screen.findByLabelText('Hold to save these limits')).toBeVisible()
  })

  it('keeps what it knows when one part cannot be read', async () => {
    const { screen } = await renderApp('/queues/mail', { answers: { ...ANSWERS, 'jobs.series': offline } })
    expect(await screen.findByText('The server is not responding')).toBeVisible()
    expect(screen.getByLabelText('Failed 24')).toBeVisible()
  })

  it('says that there is no such queue', async () => {
    const { screen } = await renderApp('/queues/nothing', { answers: ANSWERS })
    expect(await screen.findByText('Nothing here now')).toBeVisible()
    expect(screen.queryByLabelText('Pause')).toBeNull()
  })

  it('describes the alert queue, which an operator may resume but not pause', async () => {
    const paused = { at: new Date(NOW.getTime() - 7_200_000), by: 'anna', until: null }
    let isPaused = true
    const delivery = () => ({
      ...{ waiting: 4, oldestWaiting: null, limit: null },
      paused: isPaused ? paused : null,
    })
    const { screen } = await renderApp('/queues/oncue', {
      role: 'operator',
      answers: {
        ...ANSWERS,
        'health.get': () => healthOf({ delivery: delivery() }),
        'queues.resume': () => {
          isPaused = false
          return null
        },
      },
    })
    expect(await screen.findByText(/^Paused by anna, 2.h/)).toBeVisible()
    expect(screen.getByText(/None are sent until it is resumed. 4.jobs waiting/)).toBeVisible()
    expect(screen.queryByText('Nothing here now')).toBeNull()
    expect(screen.getByLabelText('Change')).toBeDisabled()
    fireEvent.press(screen.getByLabelText('Resume'))
    expect(await screen.findByLabelText('Pause')).toBeDisabled()
  })

  it('locks what a viewer may not do', async () => {
    const { screen } = await renderApp('/queues/mail', { role: 'viewer', answers: ANSWERS })
    fireEvent.press(await screen.findByLabelText('Pause'))
    expect(await screen.findByText(/You are a viewer/)).toBeVisible()
    expect(screen.getByLabelText('Pause for…')).toBeDisabled()
  })
})
