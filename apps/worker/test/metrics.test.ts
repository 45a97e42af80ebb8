import { get } from 'node:http'
import { Cancel, FINISHED_STATUSES, prepareJob, type RunningJob } from '@oncue/core'
import { afterEach, describe, expect, it } from 'vitest'
import { createMetrics, logging, type MetricsServer, serveMetrics } from '../src/index.ts'
import { type Bench, describeBoth, Gate, nap, someJobs, TestLog, until } from './harness.ts'

const servers: MetricsServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function start(bench: Bench, workers: Record<string, (job: RunningJob) => unknown>) {
  const metrics = createMetrics()
  const store = await bench.open()
  const { middleware, onSettled } = metrics
  const worker = await bench.start({ store, workers, use: [middleware], onSettled, concurrency: 4 })
  metrics.watch(worker)
  const server = await serveMetrics({ metrics, port: 0 })
  servers.push(server)
  /** The value of a series, as Prometheus would read it. */
  const scrape = async (series: string) => {
    const response = await fetch(`${server.url}/metrics`)
    expect(response.headers.get('content-type')).toContain('text/plain')
    const line = (await response.text()).split('\n').find((text) => text.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.split(' ').at(-1))
  }
  return { store, worker, scrape }
}

describeBoth('metrics', (bench) => {
  it('count the outcomes of runs, by topic and queue; the last retry counts as a failure', async () => {
    const { store, worker, scrape } = await start(bench, {
      good: () => null,
      bad: () => {
        throw new Error('no')
      },
    })
    await store.enqueue(someJobs(3, 'good'))
    await store.enqueue([prepareJob('bad', null, { maxRetries: 0 })])
    await store.enqueue([prepareJob('bad', null, { retry: { strategy: 'fixed', baseDelay: 3_600_000 } })])
    await worker.drain()
    const settled = (topic: string, outcome: string) =>
      scrape(`oncue_jobs_settled_total{topic="${topic}",queue="default",outcome="${outcome}"}`)
    expect(await settled('good', 'completed')).toBe(3)
    expect(await settled('bad', 'failed')).toBe(1)
    expect(await settled('bad', 'retried')).toBe(1)
    expect(await settled('good', 'failed')).toBeUndefined()
  })

  it('name final outcomes like the status of the job, as the metrics of the API do', async () => {
    const { store, worker, scrape } = await start(bench, {
      completed: () => null,
      failed: () => {
        throw new Error('no')
      },
      cancelled: () => {
        throw new Cancel('not needed')
      },
    })
    const ids = await store.enqueue(
      FINISHED_STATUSES.map((topic) => prepareJob(topic, null, { maxRetries: 0 })),
    )
    await worker.drain()
    const jobs = await Promise.all(ids.map((id) => store.get(id)))
    expect(jobs.map((job) => job?.status)).toEqual(FINISHED_STATUSES)
    for (const status of FINISHED_STATUSES)
      expect(
        await scrape(`oncue_jobs_settled_total{topic="${status}",queue="default",outcome="${status}"}`),
      ).toBe(1)
  })

  it('measure how long jobs waited and ran', async () => {
    const { store, worker, scrape } = await start(bench, {
      slow: () => nap(60),
    })
    await store.enqueue(someJobs(2, 'slow'))
    await worker.drain()
    const labels = '{topic="slow",queue="default"}'
    expect(await scrape(`oncue_job_run_seconds_count${labels}`)).toBe(2)
    expect(await scrape(`oncue_job_run_seconds_sum${labels}`)).toBeGreaterThan(0.1)
    expect(await scrape('oncue_job_run_seconds_bucket{le="0.05",topic="slow",queue="default"}')).toBe(0)
    expect(await scrape(`oncue_job_wait_seconds_count${labels}`)).toBe(2)
    expect(await scrape(`oncue_job_wait_seconds_sum${labels}`)).toBeGreaterThanOrEqual(0)
  })

  it('show the current state of the worker', async () => {
    const gate = new Gate()
    const { store, worker, scrape } = await start(bench, { hold: () => gate.opened })
    await store.enqueue(someJobs(3, 'hold'))
    await until(() => worker.stats().running === 3)
    expect(await scrape('oncue_worker_slots')).toBe(4)
    expect(await scrape('oncue_worker_running')).toBe(3)
    gate.open()
    await worker.drain()
    expect(await scrape('oncue_worker_running')).toBe(0)
    expect(await scrape('oncue_worker_unsettled')).toBe(0)
    expect(await scrape('oncue_worker_claimed_jobs_total')).toBe(3)
    expect(await scrape('oncue_worker_claims_total')).toBeGreaterThanOrEqual(1)
    expect(await scrape('oncue_worker_lost_runs_total')).toBe(0)
    expect(await scrape('oncue_worker_nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0)
  })
})

describe('the server of metrics', () => {
  it('reports that it is alive, knows no other paths, and can be closed twice', async () => {
    const server = await serveMetrics({ metrics: createMetrics(), port: 0 })
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const status = async (path: string) => (await fetch(`${server.url}${path}`)).status
    expect(await status('/healthz')).toBe(200)
    expect(await status('/metrics?x=1')).toBe(200)
    expect(await status('/')).toBe(404)
    await Promise.all([server.close(), server.close()])
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
  })

  it.each(['//', '//x:y', '/%', 'http://', '*', '/metrics/../..//'])(
    'responds to a request for %s, and keeps running',
    async (path) => {
      const server = await serveMetrics({ metrics: createMetrics(), port: 0 })
      servers.push(server)
      const { hostname, port } = new URL(server.url)
      const status = await new Promise((resolve, reject) => {
        const request = get({ hostname, port, path, agent: false }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
        request.on('error', reject)
      })
      expect(status).toBe(404)
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    },
  )

  it('reports that its port is taken', async () => {
    const server = await serveMetrics({ metrics: createMetrics(), port: 0 })
    servers.push(server)
    const port = Number(new URL(server.url).port)
    await expect(serveMetrics({ metrics: createMetrics(), port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    })
  })
})

describeBoth('a log of every run', (bench) => {
  it('has a line for the start and one for the end, with the error', async () => {
    const log = new TestLog()
    const store = await bench.open()
    const workers = {
      good: () => null,
      bad: () => {
        throw new TypeError('no')
      },
    }
    const worker = await bench.start({ store, workers, use: [logging(log)], concurrency: 1 })
    const [good] = await store.enqueue([prepareJob('good', null)])
    await worker.drain()
    const [bad] = await store.enqueue([prepareJob('bad', null, { maxRetries: 0 })])
    await worker.drain()
    const run = (job: unknown, topic: string) => ({ job, topic, queue: 'default', run: 1, attempt: 1 })
    expect(log.lines).toMatchObject([
      { level: 'info', message: 'started', fields: run(good, 'good') },
      { level: 'info', message: 'finished', fields: { ...run(good, 'good'), ms: expect.any(Number) } },
      { level: 'info', message: 'started', fields: run(bad, 'bad') },
      { level: 'info', message: 'failed', fields: { ...run(bad, 'bad'), threw: 'TypeError' } },
    ])
  })
})
