import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JobId, prepareJob } from '@oncue/core'
import { expect, it } from 'vitest'
import { KILLS } from './config.ts'
import { describeBoth, nap, until } from './harness.ts'

const STEPS = 15
const DAY = 86_400_000

/** Real processes, killed while they undo. */
describeBoth('jobs that are undone by workers which are killed', (bench) => {
  it('are undone to the end, the last one first, and no undo that was recorded runs again', {
    timeout: 120_000 + KILLS * 20_000,
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'oncue-undo-'))
    bench.defer(() => rm(folder, { recursive: true, force: true }))
    const notes = join(folder, 'notes')
    const store = await bench.open()
    let today = 0
    const undertaker = await bench.open({ clock: () => new Date(Date.now() + today * DAY) })

    const jobs: JobId[] = []
    const addJob = async () => {
      const job = prepareJob('saga', { steps: STEPS }, { timeoutMs: 60_000, retry: { max: 1_000 } })
      jobs.push(...(await store.enqueue([job])))
    }
    const isUndone = async (id: JobId) => (await store.get(id))?.status === 'failed'
    const undoneOf = async (id: JobId) =>
      (await store.durable.outcomes(id)).flatMap(({ key, kind }) =>
        kind === 'undone' ? [Number(key.slice('undone:undo '.length))] : [],
      )
    /** The undos of a job, in the order in which they ran. */
    const ranOf = async (id: JobId) => {
      const lines = (await readFile(notes, 'utf8').catch(() => '')).split('\n')
      return lines.filter((line) => line.startsWith(id)).map((line) => Number(line.slice(id.length + 1)))
    }
    // Crashes in a row are followed by pauses of hours, so each worker lives on another day.
    const spawn = (day: number) =>
      bench.spawn({ notes, pollMs: 50, lease: 'inline' as const, aheadMs: day * DAY })

    /** How often each undo had run when it was recorded. */
    const frozen = new Map<string, number>()
    for (let kill = 0; kill < KILLS; kill++) {
      const last = jobs.at(-1)
      if (last === undefined || (await isUndone(last))) await addJob()
      const id = jobs.at(-1) as JobId
      const before = (await undoneOf(id)).length
      const worker = await spawn(kill)
      // All of them may have run, and only the end of the job be left.
      await until(async () => (await undoneOf(id)).length > before || (await isUndone(id)))
      await nap(Math.random() * 60)
      await worker.kill()
      today = kill
      await until(async () => {
        await undertaker.rescue()
        return (await store.stats()).processing === 0
      })
      const ran = await ranOf(id)
      for (const n of await undoneOf(id)) {
        const times = ran.filter((each) => each === n).length
        expect(times).toBe(frozen.get(`${id} ${n}`) ?? times)
        frozen.set(`${id} ${n}`, times)
      }
    }
    await spawn(KILLS)
    await until(async () => (await Promise.all(jobs.map(isUndone))).every(Boolean))

    let repeated = 0
    for (const id of jobs) {
      const ran = await ranOf(id)
      const all = [...Array(STEPS).keys()].reverse()
      expect(await undoneOf(id)).toEqual(all)
      // Each again only before the next one.
      expect(ran).toEqual(ran.toSorted((a, b) => b - a))
      expect([...new Set(ran)]).toEqual(all)
      repeated += ran.length - STEPS
      expect((await store.get(id))?.lastError?.message).toBe('no stock')
    }
    expect(repeated).toBeLessThanOrEqual(KILLS)
  })
})
