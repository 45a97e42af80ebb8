import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { prepareJob } from '@oncue/core'
import { openCommitService } from '@oncue/db/testing/commit-service'
import { expect, it, vi } from 'vitest'
import { commitWorkers, URL_VARIABLE } from './commit-handlers.ts'
import { COMMIT_KILLS } from './config.ts'
import { describeBoth, nap, until } from './harness.ts'

/** At a time: they start while others run, because a start takes longer than a life. */
const PROCESSES = 4
const DAY = 86_400_000
/** Of child processes: one for every second job. */
const DEATHS = 2 * Math.ceil(COMMIT_KILLS / 4)

/** Real processes, killed at random moments of their transactions. */
describeBoth('commits and completions whose workers are killed', (bench) => {
  it.each([
    ['store the rows of the handler and the outcome together, or neither', COMMIT_KILLS, false],
    ['do so in child processes, which outlive their worker', Math.ceil(COMMIT_KILLS / 4), true],
  ])('%s', { timeout: 120_000 + COMMIT_KILLS * 5_000 }, async (_, allKills, isIsolated) => {
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
      while (kills < allKills) {
        kills += 1
        await topUp()
        const child = start(bench.url, isIsolated)
        await once(child, 'message')
        await nap(Math.random() * 100)
        await kill(child)
        expect(await service.torn()).toEqual([])
      }
    }
    await Promise.all(Array.from({ length: PROCESSES }, life))

    // Crashes in a row are followed by pauses of hours.
    const last = start(bench.url, isIsolated, 400 * DAY)
    bench.defer(() => kill(last))
    await until(async () => {
      const { pending, processing } = await store.stats()
      return pending + processing === 0
    }, 120_000)
    expect(await service.torn()).toEqual([])
    const { completed } = await store.stats()
    // Two of a commit_row, one of a complete_row.
    expect(await service.count()).toBe((completed / 2) * 3)
    expect(completed).toBeGreaterThan(allKills)
  })
})

describeBoth('isolated commits and completions whose child processes are killed', (bench) => {
  it('store the rows of the handler and the outcome together, or neither', {
    timeout: 60_000 + DEATHS * 5_000,
  }, async () => {
    vi.stubEnv(URL_VARIABLE, bench.url)
    bench.defer(async () => vi.unstubAllEnvs())
    const store = await bench.open()
    const service = openCommitService(bench.url)
    bench.defer(() => service.close())
    // Its table is there before several processes would make it.
    expect(await service.torn()).toEqual([])
    const { workers, close } = commitWorkers(bench.url, { isIsolated: true })
    bench.defer(close)
    const retry = { max: 1_000, strategy: 'fixed', baseDelay: 0 } as const
    const one = (n: number) => prepareJob(n % 2 ? 'commit_row' : 'complete_row', n, { retry })
    const ids = await store.enqueue(Array.from({ length: DEATHS }, (_, n) => one(n)))
    const modules = [new URL('./commit-handlers-dying.ts', import.meta.url).href]
    const worker = await bench.start({ store, workers, modules, concurrency: 3, pollMs: 50 })
    await until(
      async () => {
        expect(await service.torn()).toEqual([])
        const { pending, processing } = await store.stats()
        return pending + processing === 0
      },
      60_000 + DEATHS * 4_000,
    )
    await worker.stop()
    expect(await service.torn()).toEqual([])
    const done = await Promise.all(ids.map((id) => store.get(id)))
    expect(new Set(done.map((job) => job?.status))).toEqual(new Set(['completed']))
    // Two of a commit_row, whose first run was killed, one of a complete_row.
    expect(await service.count()).toBe((DEATHS / 2) * 3)
    const killed = done.filter((job) => job?.topic === 'commit_row' && job.retries > 0)
    expect(killed).toHaveLength(DEATHS / 2)
  })
})

function start(url: string, isIsolated: boolean, aheadMs = 0): ChildProcess {
  const args = [url, String(aheadMs), isIsolated ? 'isolated' : '']
  return fork(new URL('./commit-process.ts', import.meta.url), args, { execArgv: [] })
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
