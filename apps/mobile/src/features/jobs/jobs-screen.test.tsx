import { type Inputs, OncueError } from '@oncue/sdk'
import type { TestAnswers } from '@oncue/sdk/testing'
import { act, fireEvent, waitFor } from 'expo-router/testing-library'
import { healthOf, NOW } from '../../testing/health.ts'
import { JOB_ID, jobOf, pageOf } from '../../testing/job.ts'
import { renderApp } from '../../testing/render-app.tsx'

const ERROR = { class: 'SmtpTimeout', message: 'no answer', fingerprint: 'f00d' }
const idAt = (index: number) => `019a8b2c-7d10-7000-8000-${String(index).padStart(12, '0')}`
const failed = (index: number) =>
  jobOf({ id: idAt(index), status: 'failed', lastError: ERROR, run: 1, startedAt: NOW, finishedAt: NOW })

/** One full page. */
const PAGE = Array.from({ length: 100 }, (_, index) => failed(index))

const ANSWERS: TestAnswers = { 'topics.list': () => [] }

type Filter = Inputs['jobs']['list']

describe('Jobs', () => {
  it('shows each job with its topic and state', async () => {
    const { screen } = await renderApp('/jobs', {
      answers: { ...ANSWERS, 'jobs.list': () => pageOf([failed(1)]) },
    })
    expect(
      await screen.findByLabelText(/^mail_digest in mail, Failed, SmtpTimeout: no answer, created/),
    ).toBeVisible()
    expect(screen.getByText('1 job, newest first')).toBeVisible()
  })

  it('says which order is in force where it is chosen', async () => {
    const { app, screen } = await renderApp('/jobs', {
      answers: { ...ANSWERS, 'jobs.list': () => pageOf([failed(1)]) },
    })
    fireEvent.press(await screen.findByLabelText('Order: newest first'))
    fireEvent.press(await screen.findByLabelText('Order: oldest first'))
    expect(await screen.findByLabelText('Order: newest first')).toBeVisible()
    expect(app.getSearchParams()).toEqual({})
  })

  it('shows no error of an earlier run with a job that completed', async () => {
    const completed = jobOf({ ...failed(1), status: 'completed' })
    const { screen } = await renderApp('/jobs', {
      answers: { ...ANSWERS, 'jobs.list': () => pageOf([completed]) },
    })
    expect(await screen.findByLabelText(/^mail_digest in mail, Completed, …00000001 · took/)).toBeVisible()
  })

  it('tells retrying, scheduled and waiting jobs apart, and lists the retrying ones', async () => {
    const later = new Date(Date.now() + 3_600_000)
    const pending = [
      jobOf({ id: idAt(1), topic: 'again', runAt: later, retries: 1, lastError: ERROR }),
      jobOf({ id: idAt(2), topic: 'later', runAt: later }),
      jobOf({ id: idAt(3), topic: 'due' }),
    ]
    const asked: Filter[] = []
    const { screen } = await renderApp('/jobs', {
      answers: {
        ...ANSWERS,
        'jobs.list': (filter) => {
          asked.push(filter)
          return pageOf(pending)
        },
      },
    })
    expect(await screen.findByLabelText(/^again in mail, Retrying, SmtpTimeout/)).toBeVisible()
    expect(screen.getByLabelText(/^later in mail, Scheduled/)).toBeVisible()
    expect(screen.getByLabelText(/^due in mail, Waiting/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Retrying'))
    await waitFor(() => expect(asked).toContainEqual({ status: 'retrying', limit: 100 }))
  })

  it('lists suspended jobs apart, and says what an action on a selection leaves alone', async () => {
    const waits = { since: NOW.toISOString(), for: [{ kind: 'signal' as const, name: 'bank', until: null }] }
    const jobs = [
      jobOf({ id: idAt(1), topic: 'later', runAt: new Date(Date.now() + 3_600_000) }),
      jobOf({ id: idAt(2), topic: 'refund', status: 'blocked', visibleAt: null, waits }),
    ]
    const asked: Filter[] = []
    const { screen } = await renderApp('/jobs', {
      answers: {
        ...ANSWERS,
        'jobs.list': (filter) => {
          asked.push(filter)
          return pageOf(jobs)
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Suspended'))
    await waitFor(() => expect(asked).toContainEqual({ status: 'suspended', limit: 100 }))
    fireEvent.press(await screen.findByLabelText('Select'))
    fireEvent.press(await screen.findByLabelText(/^refund in mail, Suspended/))
    fireEvent.press(screen.getByLabelText('Run now'))
    expect(await screen.findByText('Nothing to run now')).toBeVisible()
    expect(screen.getByText(/^1 is waiting for a signal, .* and is skipped\.$/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Close'))
    fireEvent.press(screen.getByLabelText(/^later in mail, Scheduled/))
    fireEvent.press(screen.getByLabelText('Run now'))
    expect(await screen.findByText('Run 1 job now?')).toBeVisible()
    expect(screen.getByText(/^1 is waiting for a signal, .* and is skipped\.$/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Close'))
    fireEvent.press(screen.getByLabelText('Cancel'))
    expect(await screen.findByText(/^Cancel 2.jobs\?$/)).toBeVisible()
  })

  it('requests the filter of the address, and shows it', async () => {
    const asked: Filter[] = []
    const { screen } = await renderApp('/jobs?status=failed&queue=eu%2Fmail&fingerprint=f00d', {
      answers: {
        ...ANSWERS,
        'jobs.list': (filter) => {
          asked.push(filter)
          return pageOf([failed(1)])
        },
      },
    })
    expect(await screen.findByLabelText('Remove filter Queue: eu/mail')).toBeVisible()
    expect(screen.getByLabelText('Remove filter Error: f00d')).toBeVisible()
    expect(asked[0]).toEqual({ status: 'failed', queue: 'eu/mail', fingerprint: 'f00d', limit: 100 })
  })

  it('says when nothing matches, and clears the filter', async () => {
    const { screen } = await renderApp('/jobs?status=blocked', {
      answers: {
        ...ANSWERS,
        'jobs.list': (filter) => pageOf(filter?.status === 'blocked' ? [] : [failed(1)]),
      },
    })
    fireEvent.press(await screen.findByLabelText('Clear filter'))
    expect(await screen.findByLabelText(/^mail_digest/)).toBeVisible()
    expect(screen.queryByText('Nothing matches')).toBeNull()
  })

  it('explains the empty list before the first job', async () => {
    const { screen } = await renderApp('/jobs', { answers: { ...ANSWERS, 'jobs.list': () => pageOf([]) } })
    expect(await screen.findByText('No jobs yet')).toBeVisible()
  })

  it('says why the list could not be loaded', async () => {
    const { screen } = await renderApp('/jobs?payloadText=x&createdFrom=2026-11-16T00:00:00.000Z', {
      answers: {
        ...ANSWERS,
        'jobs.list': () => {
          throw new OncueError('FORBIDDEN', 'You may not search payloads')
        },
      },
    })
    expect(await screen.findByText('No access')).toBeVisible()
  })

  describe('the search field', () => {
    type Page = ReturnType<typeof pageOf>
    const NOTHING = pageOf([])

    /** Opens the list with an API that finds jobs for some filters only. */
    const look = async (
      text: string,
      find: (filter: NonNullable<Filter>) => Page = () => pageOf([failed(1)]),
      options: { readonly role?: 'operator'; readonly path?: string; readonly answers?: TestAnswers } = {},
    ) => {
      const asked: NonNullable<Filter>[] = []
      const { path = '/jobs', answers = {}, ...rest } = options
      const rendered = await renderApp(path, {
        ...rest,
        answers: {
          ...ANSWERS,
          'jobs.list': (filter) => {
            asked.push(filter ?? {})
            return find(filter ?? {})
          },
          'jobs.get': () => jobOf(),
          ...answers,
        },
      })
      const field = await rendered.screen.findByLabelText('Search jobs')
      if (text !== '') {
        fireEvent.changeText(field, text)
        fireEvent(field, 'submitEditing')
      }
      return { ...rendered, asked, field }
    }

    it('opens the job whose id it is', async () => {
      const { app, screen } = await look(JOB_ID)
      expect(await screen.findByRole('heading', { name: 'mail_digest' })).toBeVisible()
      expect(app.getPathname()).toBe(`/jobs/${JOB_ID}`)
    })

    it('finds a job by the last eight digits of its id, as rows show them', async () => {
      const { screen, app, asked } = await look('1a2b3c4d')
      expect(await screen.findByLabelText('id ends with 1a2b3c4d: 1')).toBeVisible()
      expect(await screen.findByText('1 job, newest first')).toBeVisible()
      expect(asked).toContainEqual({ idSuffix: '1a2b3c4d', limit: 100 })
      expect(app.getSearchParams()).toMatchObject({ q: '1a2b3c4d' })
    })

    it('tries a number as an id and as text, and shows the first that finds something', async () => {
      const { screen, asked } = await look('12345678', (filter) =>
        filter.payloadText === undefined ? NOTHING : pageOf([failed(1)]),
      )
      expect(await screen.findByText('1 job, newest first')).toBeVisible()
      expect(screen.getByLabelText('id ends with 12345678: none')).toBeVisible()
      const chosen = screen.getByLabelText('payload contains “12345678” (last 24 hours): 1')
      expect(chosen).toHaveProp('aria-pressed', true)
      expect(asked).toContainEqual({ payloadText: '12345678', createdFrom: expect.any(Date), limit: 100 })
    })

    it('counts the jobs of the chosen reading as its list does', async () => {
      const { screen } = await look('timeout', (filter) => {
        if (filter.errorText === undefined) return NOTHING
        // The probe is older than the list.
        return filter.limit === 1
          ? pageOf([failed(1)], { total: 130, totalIsExact: false })
          : pageOf([failed(1), failed(2)])
      })
      expect(await screen.findByText('2 jobs, newest first')).toBeVisible()
      expect(screen.getByLabelText('error contains “timeout”: 2')).toBeVisible()
    })

    it('opens a link to a search, with the chosen reading', async () => {
      const as = 'error contains “timeout”'
      const path = `/jobs?status=failed&q=timeout&as=${encodeURIComponent(as)}`
      const { screen, asked, field } = await look('', undefined, { path })
      expect(await screen.findByText('1 job, newest first')).toBeVisible()
      expect(field).toHaveDisplayValue('timeout')
      expect(asked.filter(({ limit }) => limit === 100)).toEqual([
        { status: 'failed', errorText: 'timeout', limit: 100 },
      ])
    })

    it('says what was searched when nothing is found, and offers the other readings', async () => {
      const { screen, asked, app } = await look('timeout', (filter) =>
        filter.errorText === undefined
          ? NOTHING
          : pageOf([], { nextCursor: filter.cursor === undefined ? 'a' : null, totalIsExact: false }),
      )
      fireEvent.press(await screen.findByLabelText(/^payload contains “timeout”/))
      expect(await screen.findByText('Nothing found')).toBeVisible()
      expect(screen.getByText('Searched: payload contains “timeout” (last 24 hours).')).toBeVisible()
      expect(screen.getByLabelText('Search further: error contains “timeout”')).toBeVisible()
      fireEvent.press(screen.getByLabelText('Search 7 days'))
      await waitFor(() => expect(app.getSearchParams()).toMatchObject({ q: 'timeout after:7d' }))
      await waitFor(() => expect(asked.some(({ cursor }) => cursor === 'a')).toBe(true))
      fireEvent.press(await screen.findByLabelText('Clear search'))
      await waitFor(() => expect(app.getSearchParams().q).toBeUndefined())
    })

    it('searches payloads for admins only', async () => {
      const { screen, asked } = await look('sk_live', undefined, { role: 'operator' })
      expect(await screen.findByText('1 job, newest first')).toBeVisible()
      await waitFor(() => expect(asked).toContainEqual({ errorText: 'sk_live', limit: 100 }))
      expect(asked.every((filter) => filter.payloadText === undefined)).toBe(true)
    })

    it('says what is wrong with a line, and sends no request', async () => {
      const { screen, app, field } = await look('colour:red')
      expect(await screen.findByText(/^There is no qualifier colour:\. Use topic: queue:/)).toBeVisible()
      expect(app.getSearchParams()).not.toHaveProperty('q')
      fireEvent.changeText(field, 'status:failed')
      expect(screen.queryByText(/^There is no qualifier/)).toBeNull()
    })

    it('says what is wrong with a line from a link', async () => {
      const { screen } = await look('', undefined, { path: '/jobs?q=after%3Asoon' })
      expect(await screen.findByText(/^after: “soon” is not a time/)).toBeVisible()
      expect(screen.getByText('Cannot search')).toBeVisible()
      expect(screen.queryByLabelText(/^mail_digest/)).toBeNull()
    })

    it('completes qualifiers, topics and queues', async () => {
      const topic = { topic: 'mail_digest' } as ReturnType<NonNullable<TestAnswers['topics.list']>>[number]
      const { screen, field, app } = await look('', undefined, {
        answers: { 'topics.list': () => [topic] },
      })
      fireEvent.changeText(field, 'to')
      fireEvent.press(await screen.findByLabelText('topic:'))
      fireEvent.press(await screen.findByLabelText('topic:mail_digest'))
      expect(field).toHaveDisplayValue('topic:mail_digest ')
      fireEvent(field, 'submitEditing')
      await waitFor(() => expect(app.getSearchParams()).toMatchObject({ q: 'topic:mail_digest' }))
    })
  })

  it('stops a search that finds nothing for long, and continues it on request', async () => {
    let asked = 0
    const { screen } = await renderApp('/jobs?q=id:1a2b3c4d', {
      answers: {
        ...ANSWERS,
        'jobs.list': ({ cursor } = {}) => {
          if (cursor !== undefined) asked++
          return pageOf([], { nextCursor: `after ${asked}`, totalIsExact: false })
        },
      },
    })
    const further = await screen.findByLabelText('Search further')
    expect(screen.getByText(/Stopped. 0.jobs found so far; there may be older ones/)).toBeVisible()
    expect(asked).toBe(29)
    fireEvent.press(further)
    await waitFor(() => expect(asked).toBeGreaterThan(29))
  })

  it('continues a search that was cut short, until it is stopped', async () => {
    const cursors: (string | undefined)[] = []
    let release = () => {}
    const { screen } = await renderApp('/jobs?idPrefix=019', {
      answers: {
        ...ANSWERS,
        'jobs.list': (filter) => {
          if (filter?.cursor === undefined) return pageOf([], { nextCursor: 'a', totalIsExact: false })
          cursors.push(filter.cursor)
          if (filter.cursor === 'a') return pageOf([failed(1)], { nextCursor: 'b', totalIsExact: false })
          const answer = new Promise<void>((resolve) => {
            release = resolve
          }).then(() => pageOf([], { nextCursor: 'c' }))
          // The transport awaits a promise, which the answer's type does not say.
          return answer as unknown as ReturnType<typeof pageOf>
        },
      },
    })
    expect(await screen.findByText(/Searching… 1.job found so far/)).toBeVisible()
    await waitFor(() => expect(cursors).toEqual(['a', 'b']))
    fireEvent.press(screen.getByLabelText('Stop'))
    await act(async () => release())
    expect(await screen.findByText(/Stopped. 1.job found so far/)).toBeVisible()
    expect(cursors).toEqual(['a', 'b'])
  })

  it('reads the next page at the end of the first', async () => {
    const cursors: (string | undefined)[] = []
    const { screen } = await renderApp('/jobs', {
      answers: {
        ...ANSWERS,
        'jobs.list': (filter) => {
          cursors.push(filter?.cursor)
          return filter?.cursor === undefined
            ? pageOf(PAGE, { nextCursor: 'a', total: 101 })
            : pageOf([jobOf({ id: idAt(100), topic: 'the_last' })], { total: 101 })
        },
      },
    })
    expect(await screen.findByText('101 jobs, newest first')).toBeVisible()
    expect(screen.getAllByLabelText(/^mail_digest/).length).toBeLessThan(60)
    const list = screen.getByTestId('job-list')
    fireEvent(list, 'layout', { nativeEvent: { layout: { height: 600 } } })
    expect(cursors).toEqual([undefined])
    fireEvent.scroll(list, {
      nativeEvent: {
        ...{ contentOffset: { y: 20_000, x: 0 }, contentSize: { height: 20_600, width: 390 } },
        layoutMeasurement: { height: 600, width: 390 },
      },
    })
    await waitFor(() => expect(cursors).toContain('a'))
  })

  describe('selecting', () => {
    const begin = async (answers: TestAnswers = {}, path = '/jobs?status=failed') => {
      const rendered = await renderApp(path, {
        answers: {
          ...ANSWERS,
          'jobs.list': () => pageOf(PAGE, { total: 4_210, nextCursor: 'a' }),
          ...answers,
        },
      })
      const [row] = await rendered.screen.findAllByLabelText(/^mail_digest/)
      if (row) fireEvent(row, 'longPress')
      await rendered.screen.findByText(/1.job selected/)
      return rendered
    }

    it('retries the selected jobs, and shows the result', async () => {
      const asked: unknown[] = []
      const { screen } = await begin({
        'jobs.requeue': (target) => {
          asked.push(target)
          return { done: 1, skipped: { INVALID_STATE: 1 } }
        },
      })
      fireEvent.press(screen.getAllByRole('checkbox')[1] as never)
      fireEvent.press(await screen.findByLabelText('Retry'))
      expect(await screen.findByText('mail_digest in mail')).toBeVisible()
      fireEvent.press(screen.getByRole('button', { name: /^Retry 2.jobs/ }))
      expect(await screen.findByText('Retried 1, skipped 1 (already waiting or running)')).toBeVisible()
      expect(asked).toEqual([{ ids: [idAt(0), idAt(1)] }])
      expect(screen.queryByText(/selected/)).toBeNull()
    })

    it('acts on all matching jobs through a bulk operation', async () => {
      const asked: unknown[] = []
      const { screen } = await begin({
        'bulkOperations.preview': (request) => {
          asked.push(request)
          return {
            asOf: NOW,
            count: 4_210,
            countIsExact: true,
            byStatus: {},
            byError: [],
            errorKinds: 0,
            inspected: 0,
            sample: [],
          }
        },
      })
      fireEvent.press(screen.getByLabelText(/^Select all 4.210 that match/))
      fireEvent.press(await screen.findByLabelText('Retry'))
      expect(await screen.findByLabelText(/^Hold to retry 4.210.jobs/)).toBeVisible()
      expect(asked).toEqual([{ action: 'requeue', filter: { status: 'failed' } }])
    })

    it('refuses to select all jobs without a filter', async () => {
      const { screen } = await begin({}, '/jobs')
      const all = screen.getByLabelText(/^Select all 4.210: needs a filter$/)
      expect(all).toBeDisabled()
      fireEvent.press(all)
      expect(await screen.findByText(/Choose a filter first/)).toBeVisible()
    })

    it('ends when the filter changes, so that no action applies to hidden jobs', async () => {
      const { screen } = await begin()
      fireEvent.press(screen.getByLabelText('Running'))
      await waitFor(() => expect(screen.queryByText(/selected/)).toBeNull())
      fireEvent.press(screen.getByLabelText('Failed'))
      await screen.findByLabelText('Select')
      expect(screen.queryByRole('checkbox')).toBeNull()
    })

    it('names jobs that have left the list by their ids', async () => {
      let jobs = [failed(1), failed(2)]
      const { screen } = await begin({ 'jobs.list': () => pageOf(jobs) })
      fireEvent.press(screen.getAllByRole('checkbox')[1] as never)
      jobs = [failed(3), failed(2)]
      await act(() => jest.advanceTimersByTimeAsync(11_000))
      fireEvent.press(await screen.findByLabelText('1 new – tap to show'))
      await waitFor(() => expect(screen.getAllByRole('checkbox')[0]).not.toBeChecked())
      fireEvent.press(screen.getByLabelText('Retry'))
      expect(await screen.findByText('…00000001, mail_digest in mail')).toBeVisible()
    })

    it('names a single job by its id', async () => {
      const { screen } = await begin()
      fireEvent.press(screen.getByLabelText('Retry'))
      expect(await screen.findByText('mail_digest in mail · …00000000')).toBeVisible()
    })

    it('wraps the line above the list where it is narrow', async () => {
      const { screen } = await begin()
      expect(screen.getByTestId('job-count')).toHaveStyle({ flexWrap: 'wrap' })
      expect(screen.getByText(/jobs?, newest first$/)).toHaveStyle({ flexBasis: 'auto' })
    })

    it('has to be held in production', async () => {
      const { screen } = await begin({ 'health.get': () => healthOf({ environment: 'production' }) })
      fireEvent.press(screen.getByLabelText('Delete'))
      expect(await screen.findByLabelText(/^Hold to delete 1.job/)).toBeVisible()
    })

    it('keeps rows in place, and says how many jobs are new', async () => {
      let jobs = [failed(1), failed(2)]
      const { screen } = await begin({ 'jobs.list': () => pageOf(jobs) })
      jobs = [failed(3), ...jobs]
      await act(() => jest.advanceTimersByTimeAsync(11_000))
      expect(screen.getAllByRole('checkbox')).toHaveLength(2)
      fireEvent.press(await screen.findByLabelText('1 new – tap to show'))
      await screen.findByText('3 jobs, newest first')
      expect(screen.getAllByRole('checkbox')).toHaveLength(3)
      expect(screen.getByText(/1.job selected/)).toBeVisible()
    })
  })
})
