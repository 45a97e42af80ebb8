import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder } from '@oncue/testing'
import { createTestWorker } from '@oncue/worker/testing'
import { expect, onTestFinished, test } from 'vitest'
import { workers } from './check/replay-before.ts'
import { jobs } from './check/replay-jobs.ts'
import { type Bench, call, describeBoth } from './harness.ts'

const moduleOf = (name: string) => fileURLToPath(new URL(`./check/${name}.ts`, import.meta.url))

/** A job of each topic that has come to its wait in the release that runs. */
async function waiting(bench: Bench, place: { port: number; file: string }) {
  const worker = await createTestWorker({ jobs, workers, url: bench.url })
  const ids = new Map<string, string>()
  const topics = [
    'skips',
    'spawns',
    'throws',
    'waits',
    'grows',
    'sums',
    'connects',
    'writes',
    'looks',
  ] as const
  for (const topic of topics)
    ids.set(topic, await worker.enqueue(topic, (topic === 'throws' ? 7 : place) as never))
  await worker.drain()
  /** Everything that is stored of these jobs. */
  const stored = () =>
    Promise.all(
      [...ids.values()].map(async (id) => [
        await worker.store.get(id),
        await worker.store.durable.outcomes(id),
      ]),
    )
  expect((await stored()).map(([job]) => job)).toEqual(
    topics.map((topic) => expect.objectContaining({ topic, waits: expect.anything() })),
  )
  return {
    ids,
    stored,
    close: () => worker.close(),
    at: ['--against', bench.url, '--schema', worker.store.schema],
  }
}

describeBoth('check --replay', (bench) => {
  test('runs the code here up to what is new, and says where it departs from the record', async () => {
    const folder = await createFolder()
    onTestFinished(() => folder.remove())
    let requests = 0
    const server = createServer((_, response) => {
      requests += 1
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const file = join(folder.path, 'replayed')
    const { ids, stored, close, at } = await waiting(bench, { port, file })
    try {
      const before = await stored()

      const same = await call('check', ...at, '--import', moduleOf('replay-before'), '--replay')
      expect(same).toMatchObject({ code: 0, stdout: '9 durable jobs checked, 9 replayed: everything fits\n' })

      const after = [...at, '--import', moduleOf('replay-after')]
      expect(JSON.parse((await call('check', ...after, '--json')).stdout)).toMatchObject({ fits: true })
      const { code, stdout } = await call('check', ...after, '--replay', '--json')
      const { departed, replayed } = JSON.parse(stdout)
      expect([code, replayed]).toEqual([1, 9])
      const problems = departed.map(({ topic, job, problem }: Record<string, string>) => {
        expect(job).toBe(ids.get(String(topic)))
        return [topic, problem]
      })
      expect(Object.fromEntries(problems)).toEqual({
        skips: 'does not come to step "charge", sleep "settle", goes on with step "charge 2"',
        spawns: expect.stringMatching(
          /does not come to sleep "settle", throws SPAWN_CHANGED: "spawn:part#1" made job/,
        ),
        throws: 'does not come to sleep "settle", throws RangeError: no such account',
        connects: expect.stringContaining('does not come to sleep "settle", throws TypeError: fetch failed'),
        writes: expect.stringContaining('does not come to sleep "settle", throws ERR_ACCESS_DENIED'),
        looks: 'does not come to sleep "settle", throws Error: no environment',
      })
      expect([requests, existsSync(file)]).toEqual([0, false])
      expect(await stored()).toEqual(before)
    } finally {
      await close()
    }
  })
})
