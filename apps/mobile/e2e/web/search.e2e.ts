import { until } from '@oncue/testing'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeBrowser, enter } from './harness.ts'
import { startWorld, type World } from './world.ts'

const ORDER = 12_345_678_901

class GatewayTimeoutError extends Error {
  override readonly name = 'GatewayTimeoutError'
}

let world: World
/** The job that is looked for, and the one that failed. */
let [id, failedId] = ['', '']

beforeAll(async () => {
  world = await startWorld()
  const { client } = world
  await client.jobs.enqueueMany(
    Array.from({ length: 30 }, (_, n) => ({ topic: 'resize_image', queue: 'media', payload: { width: n } })),
  )
  failedId = await client.jobs.enqueue('charge_card', { card: 'visa' }, { queue: 'high', maxRetries: 0 })
  await world.work({
    async charge_card() {
      throw new GatewayTimeoutError('payments.example.com did not answer')
    },
  })
  await until(async () => (await client.jobs.get(failedId)).status === 'failed', 60_000)
  id = await client.jobs.enqueue(
    'nightly_report',
    { city: 'Trondheim', order: ORDER },
    { queue: 'reports', meta: { tenant: 'acme', shard: 7 } },
  )
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

async function search(page: Page, line: string): Promise<void> {
  await page.getByLabel('Search jobs').fill(line)
  await page.keyboard.press('Enter')
}

const rows = (page: Page) => page.getByRole('link', { name: /^\w+ in \w+, / })

describe('a search', () => {
  it('finds a job by every kind of thing that people have of it, and is kept as a link', async () => {
    const { page } = await enter(world, '/jobs')
    const report = 'nightly_report in reports'
    const charge = 'charge_card in high'
    // The first ten digits of an id are its time: others were made in the same second.
    const lines: [line: string, row: string][] = [
      [id.slice(-8), report],
      [id.slice(-12), report],
      [`id:${id.slice(-5)}`, report],
      [id.slice(0, 28), report],
      [failedId.slice(-8), charge],
      ['Trondheim', report],
      ['payload:"Trondheim"', report],
      [String(ORDER), report],
      ['nightly_report', report],
      ['reports', report],
      ['charge', charge],
      ['GatewayTimeoutError', charge],
      ['did not answer', charge],
      ['error:payments.example.com', charge],
      ['meta.tenant:acme', report],
      ['meta.shard:7', report],
      ['topic:charge_card status:failed', charge],
      ['queue:reports status:waiting after:1h', report],
      ['Trondheim queue:reports', report],
    ]
    for (const [line, row] of lines) {
      await search(page, line)
      await page.waitForURL((url) => url.searchParams.get('q') === line)
      const wanted = page.getByRole('link', { name: new RegExp(`^${row}, `) })
      const found = async () => [await wanted.count(), await rows(page).count()]
      await expect.poll(found, { message: line, timeout: 20_000 }).toEqual([1, 1])
    }

    await page.reload()
    await page.getByRole('status').getByText('1 job, newest first').waitFor()
    expect(await page.getByLabel('Search jobs').inputValue()).toBe('Trondheim queue:reports')

    await search(page, id)
    await page.getByRole('heading', { name: 'nightly_report', level: 1 }).waitFor()
  })

  it('completes qualifiers and their values while one types', async () => {
    const { page } = await enter(world, '/jobs')
    const field = page.getByLabel('Search jobs')
    await field.fill('to')
    await page.getByRole('button', { name: 'topic:', exact: true }).click()
    await expect.poll(() => field.inputValue()).toBe('topic:')
    await field.pressSequentially('charge')
    await page.getByRole('button', { name: 'topic:charge_card', exact: true }).click()
    await expect.poll(() => field.inputValue()).toBe('topic:charge_card ')
    await field.pressSequentially('status:fa')
    await page.getByRole('button', { name: 'status:failed', exact: true }).click()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: /^charge_card in high, Failed/ }).waitFor()
    expect(new URL(page.url()).searchParams.get('q')).toBe('topic:charge_card status:failed')

    await search(page, 'colour:red')
    await page.getByText(/^There is no qualifier colour:/).waitFor()
  })

  it('that finds nothing says what was searched, and offers the other readings', async () => {
    const { page } = await enter(world, '/jobs')
    await search(page, 'Bergen')
    await page.getByText('Nothing found').waitFor()
    await page
      .getByText('Searched: payload contains “Bergen” (last 24 hours); error contains “Bergen”.')
      .waitFor()
    await page.getByRole('button', { name: 'Search 7 days' }).click()
    await page
      .getByText('Searched: payload contains “Bergen”, created after 7d; error', { exact: false })
      .waitFor()

    await search(page, 'Trondheim')
    await page.getByRole('status').getByText('1 job, newest first').waitFor()
    await page.getByRole('button', { name: 'error contains “Trondheim”: none' }).click()
    await page.getByRole('button', { name: 'Try payload contains “Trondheim” (last 24 hours): 1' }).click()
    await page.getByRole('link', { name: /^nightly_report in reports/ }).waitFor()
  })
})
