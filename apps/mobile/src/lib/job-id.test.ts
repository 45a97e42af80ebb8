import { expect, it } from 'vitest'
import { jobNamedIn } from './job-id.ts'

it('reads from its id when a job was enqueued', () => {
  // The example of RFC 9562.
  const id = '017f22e2-79b0-7cc3-98c4-dc0c0c07398f'
  expect(jobNamedIn(`There is no job "${id}"`)).toEqual({ id, at: new Date('2022-02-22T19:22:22Z') })
})

it.each([
  ['an id of another version', 'There is no job "3b241101-e2bb-4255-8caf-4136c566a962"'],
  ['an id that goes on', 'There is no job "0192530b-0f00-7c3a-9d2e-5b8a4f1e6d70ab"'],
  ['no id', 'There is no job "mail"'],
])('finds no job in %s', (_, text) => expect(jobNamedIn(text)).toBeNull())
