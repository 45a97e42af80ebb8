import { expect, test } from 'vitest'
import { type Service, together } from './service.ts'

const recorded = (name: string, log: string[], error?: Error): Service => ({
  start: () => void log.push(`start ${name}`),
  async stop() {
    log.push(`stop ${name}`)
    if (error) throw error
  },
})

test('services start in order and stop in reverse', async () => {
  const log: string[] = []
  const all = together([recorded('a', log), recorded('b', log)])
  all.start()
  await all.stop()
  expect(log).toEqual(['start a', 'start b', 'stop b', 'stop a'])
})

test('a service that fails to stop does not keep the others running', async () => {
  const log: string[] = []
  const all = together([recorded('a', log), recorded('b', log, new Error('stuck'))])
  await expect(all.stop()).rejects.toThrow('stuck')
  expect(log).toEqual(['stop b', 'stop a'])
})
