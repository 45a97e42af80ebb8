import { OncueError } from '@oncue/sdk'
import type { TestAnswers } from '@oncue/sdk/testing'
import { fireEvent, waitFor } from 'expo-router/testing-library'
import { topicOf } from '../../testing/admin.ts'
import { healthOf } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'

const ANSWERS: TestAnswers = { 'topics.list': () => [topicOf('mail_digest')] }

describe('enqueueing by hand', () => {
  it('has the fields of the schema, and leads to the job', async () => {
    const { app, client, screen } = await renderApp('/topics/mail_digest', {
      role: 'operator',
      answers: {
        ...ANSWERS,
        'jobs.get': () => {
          throw new Error('not looked at here')
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Enqueue…'))
    fireEvent.press(await screen.findByLabelText('Enqueue'))
    expect(await screen.findByText(/^Enter text\./)).toBeVisible()
    fireEvent.changeText(screen.getByLabelText('userId'), 'u1')
    fireEvent.changeText(screen.getByLabelText('copies (optional)'), '2')
    fireEvent.changeText(screen.getByLabelText('tags (optional)'), 'a\nb')
    fireEvent.changeText(screen.getByLabelText('city'), 'Berlin')
    fireEvent.changeText(screen.getByLabelText('extra (optional)'), '[1]')
    fireEvent.press(screen.getByLabelText('weekly'))
    fireEvent.press(screen.getByLabelText('Yes'))
    fireEvent.changeText(screen.getByLabelText('Delay, in minutes'), '10')
    fireEvent.press(screen.getByLabelText('Enqueue'))
    fireEvent.press(await screen.findByLabelText('Open the job'))
    const [job] = client.enqueued as unknown as { id: string; payload: unknown; delay: number }[]
    expect(job).toMatchObject({
      payload: {
        ...{ userId: 'u1', kind: 'weekly', copies: 2, urgent: true, tags: ['a', 'b'] },
        ...{ address: { city: 'Berlin' }, extra: [1] },
      },
      delay: 600_000,
    })
    await waitFor(() => expect(app.getPathname()).toBe(`/jobs/${job?.id}`))
  })

  it('shows an error of the API at its field', async () => {
    const message = 'payload.copies: must be <= 10 (schema of mail_digest)'
    const details = { topic: 'mail_digest', path: 'payload.copies' }
    const { screen } = await renderApp('/topics/mail_digest', {
      answers: {
        ...ANSWERS,
        'jobs.enqueue': () => {
          throw new OncueError('INVALID_PAYLOAD', message, { details })
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Enqueue…'))
    fireEvent.changeText(await screen.findByLabelText('userId'), 'u1')
    fireEvent.changeText(screen.getByLabelText('copies (optional)'), '11')
    fireEvent.press(screen.getByLabelText('Enqueue'))
    expect(await screen.findByText(/^payload\.copies: must be <= 10/)).toBeVisible()
    // The error replaces the field's hint.
    expect(screen.queryByText('whole number, 1 to 10')).toBeNull()
  })

  it("carries the form's values over to JSON", async () => {
    const { client, screen } = await renderApp('/topics/mail_digest', { answers: ANSWERS })
    fireEvent.press(await screen.findByLabelText('Enqueue…'))
    fireEvent.changeText(await screen.findByLabelText('userId'), 'u1')
    fireEvent.press(screen.getByLabelText('JSON'))
    expect((await screen.findByLabelText('Payload (optional)')).props.value).toBe('{\n  "userId": "u1"\n}')
    fireEvent.changeText(screen.getByLabelText('Payload (optional)'), '{"userId":""}')
    fireEvent.press(screen.getByLabelText('Enqueue'))
    expect(await screen.findByText('Enqueued')).toBeVisible()
    expect(client.enqueued).toMatchObject([{ topic: 'mail_digest', payload: { userId: '' } }])
  })

  it('has to be held in production', async () => {
    const { screen } = await renderApp('/topics/mail_digest', {
      answers: { ...ANSWERS, 'health.get': () => healthOf({ environment: 'production' }) },
    })
    fireEvent.press(await screen.findByLabelText('Enqueue…'))
    expect(await screen.findByLabelText('Hold to enqueue')).toBeVisible()
  })

  it('is locked for a viewer, with the reason', async () => {
    const { screen } = await renderApp('/topics/mail_digest', { role: 'viewer', answers: ANSWERS })
    fireEvent.press(await screen.findByLabelText('Enqueue…'))
    expect(await screen.findByText(/You are a viewer/)).toBeVisible()
  })
})
