import type { Locator, Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { Gateway } from './gateway.ts'
import { closeBrowser, DESKTOP, enter, hold, openWorld, PHONE } from './harness.ts'
import { startWorkerProcess } from './worker-process.ts'
import type { World } from './world.ts'

afterAll(closeBrowser)

const PRODUCTION = { ONCUE_ENVIRONMENT: 'production' }
const FAILING = 24
/** So many that what failed before is less than the limit of 10%. */
const USUAL_TRAFFIC = 300

const errorRow = (page: Page) =>
  page.getByRole('link', { name: /^GatewayTimeoutError: payments.example.com.* 24 retrying/ })

/** Counts what a person presses. */
class Finger {
  taps = 0
  readonly #page: Page

  constructor(page: Page) {
    this.#page = page
  }

  async tap(where: Locator): Promise<void> {
    await where.click()
    this.taps += 1
  }

  async hold(name: RegExp): Promise<void> {
    await hold(this.#page, name)
    this.taps += 1
  }
}

const WAYS = [
  {
    name: 'Now, on a phone, over SQLite',
    viewport: PHONE,
    dialect: 'sqlite',
    from: '/',
    most: 4,
    open: async (_: Finger, __: Page) => {},
  },
  {
    name: 'the alert, on a desk, over Postgres',
    viewport: DESKTOP,
    dialect: 'postgres',
    from: '/alerts',
    most: 5,
    open: (finger: Finger, page: Page) =>
      finger.tap(page.getByRole('link', { name: /^Firing: payments: 100% of 24 runs failed/ })),
  },
] as const

describe('a gateway that fails, with default retries, is seen to', () => {
  it.each(WAYS)('from $name, within $most taps', async ({ viewport, dialect, from, most, open }) => {
    const world = await openWorld(PRODUCTION, dialect)
    const gateway = await Gateway.open()
    const charge = (many: number) =>
      world.client.jobs.enqueueMany(
        Array.from({ length: many }, () => ({
          ...{ topic: 'charge_card', queue: 'payments', payload: { gateway: gateway.url } },
        })),
      )
    const rule = { kind: 'failure_rate', queue: 'payments', threshold: 0.1, forSeconds: 0 } as const
    await world.client.alerts.createRule({ ...rule, name: 'payments work' })
    startWorkerProcess(world, 'releases/gateway.ts', 'payments')

    gateway.isUp = false
    await charge(FAILING)
    const { page } = await enter(world, '/', { viewport })
    // With the first run that fails: no job has given up, nor will one for 14 minutes.
    await errorRow(page)
      .getByText(/^24 retrying · next try in /)
      .waitFor()
    await page.getByRole('heading', { name: 'payments is failing: 100% of runs' }).waitFor()
    await page.getByRole('button', { name: '1 alert firing' }).waitFor()
    expect(await page.getByText('No run fails now').count()).toBe(0)

    await page.goto(from)
    const finger = new Finger(page)
    await open(finger, page)
    await finger.tap(errorRow(page))
    await finger.tap(page.getByRole('button', { name: 'Run 24 retrying now' }))
    await page.getByRole('heading', { name: 'Run 24 jobs now?' }).waitFor()
    await finger.tap(page.getByRole('radio', { name: 'Try 5 first' }))
    gateway.isUp = true
    await finger.hold(/^Hold to run 24.jobs now/)
    await page.getByRole('heading', { name: 'Started 24', exact: true }).waitFor()
    await page.getByText('24 completed', { exact: true }).waitFor()
    expect(finger.taps).toBeLessThanOrEqual(most)

    await charge(USUAL_TRAFFIC)
    await passMinuteOfCalm(world)
    await page.getByRole('button', { name: 'Now', exact: true }).click()
    await page.getByRole('heading', { name: 'All good' }).waitFor()
    await page
      .getByText('The queue is fine. No run fails now, and no job gave up in the last hour.')
      .waitFor()
    await page.getByRole('button', { name: /alert/ }).waitFor({ state: 'detached' })
    expect(await page.title()).not.toMatch(/^\(/)
    expect(await world.client.jobs.stats({})).toMatchObject({ failed: 0, completed: FAILING + USUAL_TRAFFIC })
  })
})

/** An alert is resolved when its condition has been over for a minute: this one has been, when it is looked at next. */
async function passMinuteOfCalm({ client, control, store }: World): Promise<void> {
  await expect.poll(async () => (await client.jobs.stats({})).completed).toBe(FAILING + USUAL_TRAFFIC)
  const open = async () => {
    const episodes = await control.alerts.episodes()
    const now = await store.now()
    const calmSince = new Date(now.getTime() - 60_000)
    await store.alerts.record(
      now,
      episodes.map((before) => ({ before, after: { ...before, calmSince } })),
    )
    return episodes.length
  }
  await expect.poll(open, { interval: 1_000 }).toBe(0)
}

describe('a storm', () => {
  const LOST = ['imports', 'mail', 'media', 'reports', 'search']
  const FAILING = ['invoices', 'payments', 'refunds']

  it('is one alert for each cause, and acknowledged at once', async () => {
    const world = await openWorld()
    const { client } = world
    const gateway = await Gateway.open()
    gateway.isUp = false
    const enqueue = (queue: string, many: number, topic = 'charge_card') =>
      client.jobs.enqueueMany(
        Array.from({ length: many }, () => ({ topic, queue, payload: { gateway: gateway.url } })),
      )
    // Every one of these would fire at once; those that explain others are first.
    const rules = await client.alerts.rules()
    const strictly = async (builtIn: string, threshold: number) => {
      const { id = '' } = rules.find((rule) => rule.builtIn === builtIn) ?? {}
      await client.alerts.updateRule({ id, threshold, forSeconds: 0 })
    }

    const stop = startWorkerProcess(world, 'releases/gateway.ts', LOST.join(','))
    await expect.poll(async () => (await client.health.get()).workers.alive).toBe(1)
    startWorkerProcess(world, 'releases/gateway.ts', FAILING.join(','))
    const hang = Promise.withResolvers<null>()
    await world.work({ endless: () => hang.promise }, { queues: ['stuck'], concurrency: 1 })
    await expect.poll(async () => (await client.health.get()).workers.alive).toBe(3)
    await enqueue('stuck', 1, 'endless')
    await expect.poll(async () => (await client.jobs.stats({ queue: 'stuck' })).processing).toBe(1)
    await stop()
    await enqueue('stuck', 2, 'endless')
    for (const queue of LOST) await enqueue(queue, 3)
    for (const queue of FAILING) await enqueue(queue, 20)
    const retrying = async () => (await client.jobs.failures({}))[0]?.retrying
    await expect.poll(retrying).toBe(60)
    await strictly('no_workers', 0)
    await strictly('stalled', 1)
    await strictly('oldest_waiting', 0)
    await strictly('failure_rate', 0.1)

    const { page } = await enter(world, '/alerts')
    const firing = page.getByRole('link', { name: /^Firing: / })
    await page.getByRole('button', { name: 'Acknowledge all 3' }).waitFor()
    const told = (await firing.allTextContents())
      .sort()
      .map((text) => text.replace(/^.*?(?=No worker|stuck|\w+: 100%)/, ''))
    expect(told).toEqual([
      expect.stringMatching(/^No worker serves 5 queues: .*; 15 jobs wait/),
      expect.stringMatching(/^(invoices|payments|refunds): 100% of 20 runs failed .*, and 2 other queues/),
      expect.stringMatching(/^stuck: 2 jobs wait, none finished for 5 min/),
    ])
    // What waits without a worker, or behind a run that hangs, is late as well: that is not said on top.
    expect(await page.getByText(/oldest job waits/).count()).toBe(0)

    await page.getByRole('button', { name: 'Acknowledge all 3' }).click()
    await page.getByRole('link', { name: /^Acknowledged: No worker serves 5 queues/ }).waitFor()
    await expect.poll(() => firing.count()).toBe(0)
    const { items } = await client.alerts.list({ state: 'open' })
    expect(items.map(({ state, acked }) => [state, acked?.by])).toEqual(Array(3).fill(['acked', 'admin']))
    await page.getByRole('link', { name: 'Now', exact: true }).click()
    await page.getByText('Alerts: 3 acknowledged').waitFor()
    hang.resolve(null)
  })
})
