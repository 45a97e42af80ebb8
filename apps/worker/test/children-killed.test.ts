import { prepareJob } from '@oncue/core'
import { expect, it } from 'vitest'
import { KILLS } from './config.ts'
import { describeBoth, nap, until } from './harness.ts'

const ROUNDS = 6
const CHILDREN = 4
const DAY = 86_400_000

/** Real processes, killed while children end and their parent is suspended. */
describeBoth('a job whose workers are killed while it waits for children', (bench) => {
  it('makes each child once, and completes with all their results', {
    timeout: 120_000 + KILLS * 20_000,
  }, async () => {
    const store = await bench.open()
    let today = 0
    const undertaker = await bench.open({ clock: () => new Date(Date.now() + today * DAY) })
    // While most workers are missing, none is declared dead for a while: two that stay.
    const elsewhere = { store: undertaker, queues: ['elsewhere'], workers: { other: () => null } }
    await Promise.all([bench.start(elsewhere), bench.start(elsewhere)])
    const rounds = Math.max(ROUNDS, KILLS)
    const [id = ''] = await store.enqueue([
      prepareJob('family', { rounds, children: CHILDREN }, { retry: { max: 1_000 } }),
    ])
    const progress = async () => (await store.durable.outcomes(id)).length
    // Crashes in a row are followed by pauses of hours, so each worker lives on another day.
    const process = (day: number) => ({ pollMs: 50, lease: 'inline' as const, aheadMs: day * DAY })
    for (let kill = 0; kill < KILLS; kill++) {
      today = kill
      const before = await progress()
      const workers = await Promise.all([bench.spawn(process(kill)), bench.spawn(process(kill))])
      await until(async () => (await progress()) > before || (await store.get(id))?.status === 'completed')
      await nap(Math.random() * 30)
      await Promise.all(workers.map((worker) => worker.kill()))
      await until(async () => {
        await undertaker.rescue()
        return (await store.list({ status: 'processing' })).items.length === 0
      })
    }
    await bench.spawn(process(KILLS))
    await until(async () => (await store.get(id))?.status === 'completed')

    const numbers = Array.from({ length: rounds * CHILDREN }, (_, n) => n)
    const expected = Array.from({ length: rounds }, (_, n) => numbers.slice(n * CHILDREN, (n + 1) * CHILDREN))
    expect((await store.get(id))?.result).toEqual(expected)
    expect((await store.list({ topic: 'leaf' })).total).toBe(numbers.length)
  })
})
