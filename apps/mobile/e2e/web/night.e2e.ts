import { afterAll, describe, expect, it } from 'vitest'
import { closeBrowser, DESKTOP, hold, openWorld, PHONE, signIn, visit } from './harness.ts'
import { startWorkerProcess } from './worker-process.ts'

afterAll(closeBrowser)

const FAILED_LATELY = /^\d\d% of runs failed in the last 15 min$/
const PRODUCTION = { ONCUE_ENVIRONMENT: 'production' }

describe('from "something is late" to "requeued", and back to bed', () => {
  it.each([
    ['a phone, over SQLite', PHONE, 'sqlite'],
    ['a desk, over Postgres', DESKTOP, 'postgres'],
  ] as const)('on %s', async (_, viewport, dialect) => {
    const world = await openWorld(PRODUCTION, dialect)
    const { client } = world
    const rule = { kind: 'oldest_waiting', queue: 'mail', threshold: 1, forSeconds: 0 } as const
    await client.alerts.createRule({ ...rule, name: 'mail is quick' })
    const digest = (userId: string) => ({ topic: 'mail_digest', queue: 'mail', payload: { userId } })

    // One worker hangs, the other one has a release that fails.
    const hang = Promise.withResolvers<null>()
    await world.work({ big_mailing: () => hang.promise }, { queues: ['mail'], concurrency: 1 })
    await client.jobs.enqueueMany([{ topic: 'big_mailing', queue: 'mail', payload: null }])
    const stopBroken = startWorkerProcess(world, 'releases/broken.ts')
    await client.jobs.enqueueMany(
      ['ann', 'bob', 'cat', 'dan', 'eve'].map((user) => ({ ...digest(user), maxRetries: 0 })),
    )
    await expect.poll(async () => (await client.jobs.stats({})).failed).toBe(5)

    const { page } = await visit(world, { viewport })
    await signIn(page)
    await page.getByRole('link', { name: /^SmtpTimeout: smtp.example.com.* 5 gave up/ }).waitFor()

    // The failing worker is stopped; new jobs wait for the one that hangs.
    await stopBroken()
    await client.jobs.enqueueMany([digest('fay'), digest('gus')])
    await page.getByRole('heading', { name: /^mail is late: oldest waits/ }).waitFor()
    await page.getByRole('link', { name: /^mail: Late, 2.jobs waiting/ }).waitFor()
    await expect.poll(() => page.title()).toMatch(/^\(1\) mail is late/)

    // The fix is deployed, and the waiting jobs run.
    startWorkerProcess(world, 'releases/fixed.ts')
    hang.resolve(null)
    // Not all is good yet: most runs of the last minutes failed.
    await page.getByRole('heading', { name: FAILED_LATELY }).waitFor()

    await page.getByRole('link', { name: 'Failures', exact: true }).click()
    await page.getByRole('link', { name: /^SmtpTimeout: .* 5 gave up/ }).click()
    await page.getByRole('heading', { name: 'SmtpTimeout', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Retry these 5' }).click()

    const sheet = page.getByRole('dialog')
    await sheet.getByRole('heading', { name: 'Retry 5 jobs?' }).waitFor()
    await sheet.getByText('production').waitFor()
    await hold(page, /^Hold to retry 5.jobs/)
    await page.getByRole('heading', { name: 'Retried 5', exact: true }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/bulk-operations\//)

    await page.getByRole('button', { name: 'Now', exact: true }).click()
    await page.getByText('None of their jobs is failing now.').waitFor()
    await page.getByRole('heading', { name: FAILED_LATELY }).waitFor()
    const { failed, completed } = await client.jobs.stats({})
    expect({ failed, completed }).toEqual({ failed: 0, completed: 8 })
  })

  it('names an error as soon as the first runs have failed', async () => {
    const world = await openWorld({})
    const stopBroken = startWorkerProcess(world, 'releases/broken.ts')
    const digest = { topic: 'mail_digest', queue: 'mail', payload: { userId: 'ann' } }
    await world.client.jobs.enqueueMany([digest, digest, digest])
    const { page } = await visit(world, { viewport: PHONE })
    await signIn(page)
    const row = page.getByRole('link', { name: /^SmtpTimeout: smtp.example.com.* 3 retrying/ })
    await row.getByText(/^3 retrying · next try in /).waitFor()
    await stopBroken()

    await row.click()
    await page.getByRole('heading', { name: 'Retrying', exact: true }).waitFor()
    await page.getByRole('link', { name: 'All 3 jobs' }).click()
    await page
      .getByRole('link', { name: /^mail_digest in mail, Retrying/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'All like this' }).click()
    await page.getByRole('button', { name: /^Cancel 3 retrying/ }).waitFor()
    expect(await page.getByText('No such failure').count()).toBe(0)
  })
})
