import { expect, it } from 'vitest'
import { titleOf } from './title.ts'

const health = (level: 'good' | 'bad', text: string, states: readonly string[]) =>
  ({ summary: { level, text }, queues: states.map((state) => ({ state })) }) as never

it.each([
  [undefined, 'Queues · Oncue'],
  [health('good', 'All good', ['ok', 'idle']), 'Queues · Oncue'],
  [health('bad', '2 queues late', ['late', 'late', 'ok']), '(2) 2 queues late · Queues · Oncue'],
  [health('bad', 'No worker is alive', ['idle']), 'No worker is alive · Queues · Oncue'],
])('begins with what is wrong', (picture, title) => {
  expect(titleOf('Queues', picture, false)).toBe(title)
})

it('shows no old state of a server that does not respond', () => {
  expect(titleOf('Queues', health('bad', '2 queues late', ['late']), true)).toBe('Offline · Queues · Oncue')
})
