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

/** As many as come at once. */
const PAGE = Array.from({ length: 100 }, (_, index) => failed(index))

const ANSWERS: TestAnswers = { 'topics.list': () => [] }

type Filter = Inputs['jobs']['list']

describe('Jobs', () => {
  it('says of each what it is and how it went', async () => {
    const { screen } = await renderApp('/jobs', {
      answers: { ...ANSWERS, 'jobs.list': () => pageOf([failed(1)]) },
    })
    expect(
      await screen.findByLabelText(/^mail_digest in mail, Failed, SmtpTimeout: no answer, created/),
    ).toBeVisible()
    expect(screen.getByText('1 job, newest first')).toBeVisible()
  })

  it('asks for what the address says, and shows it', async () => {
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

  it('is calm before there is any', async () => {
    const { screen } = await renderApp('/jobs', { answers: { ...ANSWERS, 'jobs.list': () => pageOf([]) } })
    expect(await screen.findByText('No jobs yet')).toBeVisible()
  })

  it('says why nothing can be shown', async () => {
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
    const look = async (text: string) => {
      const asked: Filter[] = []
      const rendered = await renderApp('/jobs', {
        answers: {
          ...ANSWERS,
          'jobs.list': (filter) => {
            asked.push(filter)
            return pageOf([failed(1)])
          },
          'jobs.get': () => jobOf(),
        },
      })
      const field = await rendered.screen.findByLabelText('Search by id, or text in the payload')
      fireEvent.changeText(field, text)
      fireEvent(field, 'submitEditing')
      return { ...rendered, asked }
    }

    it('offers a search in payloads to admins only', async () => {
      const { screen } = await renderApp('/jobs', { role: 'operator', answers: ANSWERS })
      expect(await screen.findByLabelText('Search by id')).toBeVisible()
    })

    it('tells others that a text is no id, and asks for nothing', async () => {
      const asked: Filter[] = []
      const { screen } = await renderApp('/jobs', {
        role: 'operator',
        answers: {
          ...ANSWERS,
          'jobs.list': (filter) => {
            asked.push(filter)
            return pageOf([failed(1)])
          },
        },
      })
      const field = await screen.findByLabelText('Search by id')
      fireEvent.changeText(field, 'sk_live')
      fireEvent(field, 'submitEditing')
      expect(await screen.findByText('Not a job id. Only admins can search payloads.')).toBeVisible()
      expect(field).toHaveDisplayValue('sk_live')
      expect(asked.every((filter) => filter?.payloadText === undefined)).toBe(true)
      fireEvent.changeText(field, '019a8b2c')
      expect(screen.queryByText(/^Not a job id/)).toBeNull()
      fireEvent(field, 'submitEditing')
      expect(await screen.findByLabelText('Remove filter Id: 019a8b2c…')).toBeVisible()
    })

    it('opens the job whose id it is', async () => {
      const { app, screen } = await look(JOB_ID)
      expect(await screen.findByRole('heading', { name: 'mail_digest' })).toBeVisible()
      expect(app.getPathname()).toBe(`/jobs/${JOB_ID}`)
    })

    it('finds ids by how they begin', async () => {
      const { screen, asked } = await look('019a8b2c')
      expect(await screen.findByLabelText('Remove filter Id: 019a8b2c…')).toBeVisible()
      expect(asked.at(-1)).toMatchObject({ idPrefix: '019a8b2c' })
    })

    it('finds text in payloads, within a day', async () => {
      const { screen, asked } = await look('u_1')
      expect(await screen.findByLabelText('Remove filter Payload: “u_1”')).toBeVisible()
      expect(asked.at(-1)).toMatchObject({ payloadText: 'u_1', createdFrom: expect.any(Date) })
    })
  })

  it('goes on by itself where a search gave up, until it is stopped', async () => {
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
          // A promise is what a transport waits for.
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

    it('retries those, and says what became of them', async () => {
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
      expect(await screen.findByText('Requeued 1, skipped 1 (already waiting or running)')).toBeVisible()
      expect(asked).toEqual([{ ids: [idAt(0), idAt(1)] }])
      expect(screen.queryByText(/selected/)).toBeNull()
    })

    it('acts on all that match by the server', async () => {
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

    it('does not take every job there is for a selection', async () => {
      const { screen } = await begin({}, '/jobs')
      fireEvent.press(screen.getByLabelText(/^Select all 4.210 that match/))
      expect(await screen.findByText(/Choose a filter first/)).toBeVisible()
    })

    it('ends with another filter: nobody acts on what is out of sight', async () => {
      const { screen } = await begin()
      fireEvent.press(screen.getByLabelText('Running'))
      await waitFor(() => expect(screen.queryByText(/selected/)).toBeNull())
      fireEvent.press(screen.getByLabelText('Failed'))
      await screen.findByLabelText('Select')
      expect(screen.queryByRole('checkbox')).toBeNull()
    })

    it('names by their ids those that are not in the list any more', async () => {
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

    it('says of a single one which it is', async () => {
      const { screen } = await begin()
      fireEvent.press(screen.getByLabelText('Retry'))
      expect(await screen.findByText('mail_digest in mail · …00000000')).toBeVisible()
    })

    it('wraps what stands above the list, where it is narrow', async () => {
      const { screen } = await begin()
      expect(screen.getByTestId('job-count')).toHaveStyle({ flexWrap: 'wrap' })
      expect(screen.getByText(/newest first/)).toHaveStyle({ flexBasis: 'auto' })
    })

    it('is to be held in production', async () => {
      const { screen } = await begin({ 'health.get': () => healthOf({ environment: 'production' }) })
      fireEvent.press(screen.getByLabelText('Delete'))
      expect(await screen.findByLabelText(/^Hold to delete 1.job/)).toBeVisible()
    })

    it('leaves rows where they are, and says what came', async () => {
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
