import { OncueError } from '@oncue/sdk'
import type { TestAnswers } from '@oncue/sdk/testing'
import { act, fireEvent } from 'expo-router/testing-library'
import { healthOf } from '../../testing/health.ts'
import { JOB_ID } from '../../testing/job.ts'
import { questionOf } from '../../testing/questions.ts'
import { renderApp } from '../../testing/render-app.tsx'

type Role = 'viewer' | 'operator' | 'admin'

const open = (answers: TestAnswers = {}, role: Role = 'operator', path = '/questions') =>
  renderApp(path, {
    role,
    answers: {
      'jobs.questions': () => [questionOf()],
      'health.get': () => healthOf({ questions: 1 }),
      ...answers,
    },
  })

const refuse =
  (code: ConstructorParameters<typeof OncueError>[0], message: string, details = {}) =>
  () => {
    throw new OncueError(code, message, { details })
  }

describe('Questions', () => {
  it('are two taps away on a phone, with their number', async () => {
    const { app, screen } = await open({}, 'operator', '/')
    fireEvent.press(await screen.findByLabelText('More, 1 open question'))
    fireEvent.press(await screen.findByLabelText('Questions, 1 open'))
    expect(app.getPathname()).toBe('/questions')
  })

  it('are one tap away from Now', async () => {
    const { app, screen } = await open({}, 'operator', '/')
    fireEvent.press(await screen.findByLabelText(/^1.question$/))
    expect(app.getPathname()).toBe('/questions')
  })

  it('say that there are none, and then nothing is counted', async () => {
    const answers = { 'jobs.questions': () => [], 'health.get': () => healthOf() }
    const { screen } = await open(answers)
    expect(await screen.findByText('No open questions')).toBeVisible()
    expect(screen.queryByTestId('question-count')).toBeNull()
  })

  it('are answered in a form of their schema', async () => {
    const sent: unknown[] = []
    const { screen } = await open({
      'jobs.answer': (input) => {
        sent.push(input)
        return { id: input.id, name: input.name }
      },
    })
    fireEvent.press(await screen.findByLabelText(/^Refund 5 €\?, refund …00000001, open for 2.d$/))
    fireEvent.press(await screen.findByLabelText('Answer'))
    expect(await screen.findByText('Choose one.')).toBeVisible()
    expect(sent).toEqual([])
    fireEvent.press(screen.getByLabelText('Yes'))
    fireEvent.changeText(screen.getByLabelText('note (optional)'), 'as agreed')
    fireEvent.press(screen.getByLabelText('Answer'))
    expect(await screen.findByText(/^Answered: refund/)).toBeVisible()
    expect(sent).toMatchObject([{ id: JOB_ID, name: 'approve', value: { ok: true, note: 'as agreed' } }])
  })

  it('show at its field what the API refuses', async () => {
    const { screen } = await open({
      'jobs.answer': refuse('INVALID_ANSWER', 'answer.note: too long (schema of refund)', {
        path: 'answer.note',
      }),
    })
    fireEvent.press(await screen.findByLabelText(/^Refund/))
    fireEvent.press(await screen.findByLabelText('Yes'))
    fireEvent.press(screen.getByLabelText('Answer'))
    expect(await screen.findByText(/^answer\.note: too long/)).toBeVisible()
    // In place of what the field says otherwise.
    expect(screen.queryByText('text')).toBeNull()
  })

  it('say who was faster', async () => {
    const { app, screen } = await open({
      'jobs.answer': refuse('ALREADY_ANSWERED', 'ada has answered the question', { by: 'ada' }),
    })
    fireEvent.press(await screen.findByLabelText(/^Refund/))
    fireEvent.press(await screen.findByLabelText('No'))
    fireEvent.press(screen.getByLabelText('Answer'))
    expect(await screen.findByText('ada has already answered this')).toBeVisible()
    expect(screen.queryByLabelText('Answer')).toBeNull()
    fireEvent.press(screen.getByLabelText('Open the job'))
    expect(app.getPathname()).toBe(`/jobs/${JOB_ID}`)
  })

  it('that were refused by their job say why', async () => {
    const { screen } = await open({ 'jobs.questions': () => [questionOf({ refused: 'ok needs a note' })] })
    fireEvent.press(await screen.findByLabelText(/last answer refused$/))
    expect(await screen.findByText('The job refused the last answer')).toBeVisible()
    expect(screen.getByText('ok needs a note')).toBeVisible()
  })

  it.each([
    { role: 'viewer', asked: {}, why: 'You are a viewer. Operators and admins can do this.' },
    { role: 'operator', asked: { role: 'admin' }, why: 'You are an operator. Admins can do this.' },
  ] as const)('are locked for a $role with the reason', async ({ role, asked, why }) => {
    const { screen } = await open({ 'jobs.questions': () => [questionOf(asked)] }, role)
    fireEvent.press(await screen.findByLabelText(/^Refund.*locked: /))
    expect(await screen.findByText('You cannot answer')).toBeVisible()
    expect(screen.getByText(why)).toBeVisible()
    expect(screen.getByLabelText('Answer')).toBeDisabled()
  })

  it('have to be held in production', async () => {
    const { screen } = await open({
      'health.get': () => healthOf({ questions: 1, environment: 'production' }),
    })
    fireEvent.press(await screen.findByLabelText(/^Refund/))
    expect(await screen.findByLabelText('Hold to answer')).toBeVisible()
    await act(async () => {})
  })
})
