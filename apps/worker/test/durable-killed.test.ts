import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JobId, prepareJob } from '@oncue/core'
import type { Store } from '@oncue/db'
import { expect, it } from 'vitest'
import { KILLS } from './config.ts'
import { describeBoth, nap, until, type WorkerProcess } from './harness.ts'
import type { FromProcess } from './worker-process.ts'

const STEPS = 20
/** At a time, each at another point of its handler. */
const JOBS = 3
const DAY = 86_400_000
/** The step before the wait for the signal. */
const LAST_BEFORE_WAIT = STEPS / 2

/** Real processes, killed at random moments. */
describeBoth('durable jobs whose workers are killed', (bench) => {
  it('runs every recorded step exactly once, and completes with what was recorded', {
    timeout: 120_000 + KILLS * 20_000,
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'oncue-durable-'))
    bench.defer(() => rm(folder, { recursive: true, force: true }))
    const notes = join(folder, 'notes')
    const store = await bench.open()
    let today = 0
    const undertaker = await bench.open({ clock: () => new Date(Date.now() + today * DAY) })

    const jobs: JobId[] = []
    const isFinished = async (id: JobId) => (await store.get(id))?.status === 'completed'
    /** What was recorded, and how often each step had run, when a worker was killed. */
    const frozen = new Map<JobId, Map<string, { result: unknown; times: number }>>()

    const signal = (id: JobId) => store.durable.signal({ id, name: 'go', data: '7', key: 'once' })
    const addJob = async () => {
      const options = { timeoutMs: 60_000, retry: { max: 1_000 } }
      const [id = ''] = await store.enqueue([prepareJob('counted', { steps: STEPS }, options)])
      jobs.push(id)
      if (Math.random() < 0.25) await signal(id)
    }
    /** As the job is about to be suspended: its last step before the wait has run. */
    const signalAtSuspension = (worker: WorkerProcess) => {
      worker.child.on('message', (message: FromProcess) => {
        if (!('stepped' in message) || message.n !== LAST_BEFORE_WAIT || Math.random() < 0.3) return
        const { stepped } = message
        // Closed or finished by then, it is sent by another worker's turn, or was not needed.
        nap(Math.random() * 25)
          .then(() => signal(stepped))
          .catch(() => {})
      })
    }
    const waiting = async () => {
      const found = await Promise.all(jobs.map((id) => store.get(id)))
      return found.flatMap((job) => (job?.waits?.for.some(({ name }) => name === 'go') ? [job.id] : []))
    }
    const nudge = async () => {
      for (const id of await waiting()) await signal(id)
    }
    /** Where all of them wait for a signal, nothing would be recorded. */
    const nudgeIfStuck = async () => {
      if ((await waiting()).length === (await unfinished(store, jobs)).length) await nudge()
    }
    // Crashes in a row are followed by pauses of hours, so each worker lives on another day.
    const spawn = (day: number) =>
      bench.spawn({ notes, pollMs: 50, lease: 'inline' as const, aheadMs: day * DAY })

    for (let kill = 0; kill < KILLS; kill++) {
      const live = await unfinished(store, jobs)
      for (let n = live.length; n < JOBS; n++) await addJob()
      if (Math.random() < 0.5) await nudge()
      const before = await recordedBy(store, jobs)
      const worker = await spawn(kill)
      signalAtSuspension(worker)
      // Half of them after something was recorded, so that jobs come to their end.
      if (kill % 2 === 0)
        await until(async () => {
          await nudgeIfStuck()
          return (await recordedBy(store, jobs)) > before
        })
      await nap(Math.random() * 150)
      await worker.kill()
      today = kill
      // Charged on the same day, so that the pause is over on the next.
      await until(async () => {
        await undertaker.rescue()
        const { processing } = await store.stats()
        return processing === 0
      })
      for (const id of jobs) {
        const ran = await ranOf(notes, id)
        for (const { key, kind, data } of await store.durable.outcomes(id)) {
          if (kind !== 'step') continue
          const now = { result: (data as { result: unknown }).result, times: ran.get(key)?.length ?? 0 }
          const then = frozen.get(id)?.get(key)
          if (then) expect([key, now]).toEqual([key, then])
          frozen.set(id, (frozen.get(id) ?? new Map()).set(key, now))
        }
      }
    }

    const last = await spawn(KILLS)
    signalAtSuspension(last)
    await until(async () => {
      await nudge()
      return (await Promise.all(jobs.map(isFinished))).every(Boolean)
    })

    let repeated = 0
    for (const id of jobs) {
      const ran = await ranOf(notes, id)
      const results = (await store.get(id))?.result as (string | number)[]
      const signals = results.flatMap((result, at) => (result === 7 ? [at] : []))
      expect(signals).toEqual([LAST_BEFORE_WAIT + 1])
      const steps = results.filter((result) => result !== 7).map(String)
      expect(steps.map((result) => Number(result.split(' ')[0]))).toEqual([...Array(STEPS).keys()])
      for (const [n, result] of steps.entries()) {
        const runs = ran.get(`step:step ${n}`) ?? []
        const recorded = frozen.get(id)?.get(`step:step ${n}`)
        // The run that was recorded was the last one.
        expect([n, result]).toEqual([n, runs.at(-1)])
        if (recorded) expect([n, result, runs.length]).toEqual([n, recorded.result, recorded.times])
        repeated += runs.length - 1
      }
    }
    // Steps run one after the other: a kill can repeat the one of each job that it interrupted, and no other.
    expect(repeated).toBeLessThanOrEqual(KILLS * JOBS)
  })
})

async function unfinished(store: Store, ids: readonly JobId[]): Promise<JobId[]> {
  const glanced = await store.glance(ids)
  return ids.filter((id) => glanced.get(id)?.status !== 'completed')
}

/** How many steps of these jobs are recorded. */
async function recordedBy(store: Store, ids: readonly JobId[]): Promise<number> {
  const live = await unfinished(store, ids)
  const counts = await Promise.all(live.map((id) => store.durable.outcomes(id)))
  return counts.reduce((sum, outcomes) => sum + outcomes.length, (ids.length - live.length) * 1_000)
}

/** The results of each step of a job, by key, in the order in which it ran. */
async function ranOf(notes: string, id: JobId): Promise<Map<string, string[]>> {
  const text = await readFile(notes, 'utf8').catch(() => '')
  const ran = new Map<string, string[]>()
  for (const line of text.split('\n').filter((line) => line.startsWith(id))) {
    const result = line.slice(id.length + 1)
    const key = `step:step ${result.split(' ')[0]}`
    ran.set(key, [...(ran.get(key) ?? []), result])
  }
  return ran
}
