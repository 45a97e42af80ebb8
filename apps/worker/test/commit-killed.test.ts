import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { prepareJob } from '@oncue/core'
import { openCommitService } from '@oncue/db/testing/commit-service'
import { expect, it } from 'vitest'
import { COMMIT_KILLS } from './config.ts'
import { describeBoth, nap, until } from './harness.ts'

/** At a time: they start while others run, because a start takes longer than a life. */
const PROCESSES = 4
const DAY = 86_400_000

/** Real processes, killed at random moments of their transactions. */
describeBoth('commits and completions whose workers are killed', (bench) => {
  it('store the rows of the handler and the outcome together, or neither', {
    timeout: 120_000 + COMMIT_KILLS * 5_000,
  }, async () => {
    const store = await bench.open()
    const service = openCommitService(bench.url)
    bench.defer(() => service.close())
    expect(await service.torn()).toEqual([])

    const topUp = async () => {
      const { pending } = await store.stats()
      if (pending > 200) return
      const one = (n: number) =>
        prepareJob(n % 2 ? 'commit_row' : 'complete_row', n, { retry: { max: 1_000 } })
      await store.enqueue(Array.from({ length: 200 }, (_, n) => one(n)))
    }
    let kills = 0
    const life = async () => {
      while (kills < COMMIT_KILLS) {
        kills += 1
        await topUp()
        const child = start(bench.url)
        await once(child, 'message')
        await nap(Math.random() * 100)
        await kill(child)
        expect(await service.torn()).toEqual([])
      }
    }
    await Promise.all(Array.from({ length: PROCESSES }, life))

    // Crashes in a row are followed by pauses of hours.
    const last = start(bench.url, 400 * DAY)
    bench.defer(() => kill(last))
    await until(async () => {
      const { pending, processing } = await store.stats()
      return pending + processing === 0
    }, 120_000)
    expect(await service.torn()).toEqual([])
    const { completed } = await store.stats()
    // Two of a commit_row, one of a complete_row.
    expect(await service.count()).toBe((completed / 2) * 3)
    expect(completed).toBeGreaterThan(COMMIT_KILLS)
  })
})

function start(url: string, aheadMs = 0): ChildProcess {
  return fork(new URL('./commit-process.ts', import.meta.url), [url, String(aheadMs)], { execArgv: [] })
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
