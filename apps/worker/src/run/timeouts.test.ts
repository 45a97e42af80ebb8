import { simulate } from '@oncue/runtime'
import { expect, test } from 'vitest'
import { Timeouts } from './timeouts.ts'

test('asks all runs of a turn together, in the next one', async () => {
  const runtime = simulate()
  const timeouts = new Timeouts(runtime)
  const asked: [string, number][] = []
  const run = (name: string) => ({ startTimeout: (now: number) => void asked.push([name, now]) })
  timeouts.watch(run('first'))
  timeouts.watch(run('second'))
  expect(asked).toEqual([])
  await runtime.sleep(0)
  const now = runtime.monotonic()
  expect(asked).toEqual([
    ['first', now],
    ['second', now],
  ])
  timeouts.watch(run('third'))
  await runtime.sleep(0)
  expect(asked).toHaveLength(3)
})
