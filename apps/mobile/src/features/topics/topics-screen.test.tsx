import { fireEvent } from 'expo-router/testing-library'
import { topicOf } from '../../testing/admin.ts'
import { renderApp } from '../../testing/render-app.tsx'

describe('Topics', () => {
  it('are listed with queue, retries, timeout and conflicting schemas', async () => {
    const clash = [
      { services: ['shop'], workers: 2 },
      { services: ['mail'], workers: 1 },
    ]
    const { app, screen } = await renderApp('/topics', {
      answers: { 'topics.list': () => [topicOf('mail_digest'), topicOf('odd', { policy: null, clash })] },
    })
    const mail = /^mail_digest, queue mail, 5.retries, timeout 30.s$/
    expect(await screen.findByLabelText(mail)).toBeVisible()
    const odd = /^odd, queue default, 3.retries, timeout 10.min, schemas differ$/
    fireEvent.press(screen.getByLabelText(odd))
    expect(app.getPathname()).toBe('/topics/odd')
    expect(await screen.findByText(/shop \(2.workers\) and mail \(1.worker\)/)).toBeVisible()
  })

  it('show what their payload must be, field by field', async () => {
    const { screen } = await renderApp('/topics/mail_digest', {
      answers: { 'topics.list': () => [topicOf('mail_digest')] },
    })
    expect(await screen.findByText('userId  text, required')).toBeVisible()
    expect(screen.getByText('Whose digest it is')).toBeVisible()
    expect(screen.getByText('copies  whole number, 1 to 10, optional')).toBeVisible()
  })

  it('lead to their jobs', async () => {
    const { app, screen } = await renderApp('/topics/mail_digest', {
      answers: { 'topics.list': () => [topicOf('mail_digest')] },
    })
    fireEvent.press(await screen.findByLabelText('All jobs'))
    expect(app.getPathnameWithParams()).toBe('/jobs?topic=mail_digest')
  })

  it('say that one is not known, and that there are none', async () => {
    const { screen } = await renderApp('/topics/nothing', { answers: { 'topics.list': () => [] } })
    expect(await screen.findByText('No worker has announced “nothing”.')).toBeVisible()
  })
})
