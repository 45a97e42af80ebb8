import type { Locator, Page } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { settled } from './every-screen.ts'
import { closeBrowser, enter, openWorld, seriousFindings } from './harness.ts'

afterAll(closeBrowser)

const DESK = { width: 1440, height: 900 }

/** The moment of each chart, as it is written beside its title. */
const moments = (page: Page) => page.getByText(/(at|latest:) \d\d:\d\d.UTC$/).allTextContents()

const spokenOf = (chart: Locator) => chart.getAttribute('aria-valuetext')

it('a desk has large charts on Now, with one crosshair for keys and pointer', async () => {
  const world = await openWorld()
  await world.work({ resize_image: async () => ({ width: 640 }) })
  await world.client.jobs.enqueue('resize_image', null)
  const { page } = await enter(world, '/', { viewport: DESK, timezoneId: 'UTC' })
  await settled(page)
  const charts = page.getByRole('slider', { name: /^Chart of/ })
  await charts.nth(3).waitFor()
  expect(await charts.count()).toBe(4)
  const [latest] = await moments(page)

  await charts.first().focus()
  for (const key of ['End', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key)
  const seen = await moments(page)
  expect(new Set(seen).size).toBe(1)
  expect(seen).not.toContain(latest)
  expect(await spokenOf(charts.nth(0))).toMatch(/^\d\d:\d\d.UTC, completed \d+, failed \d+/)
  expect(await spokenOf(charts.nth(1))).toMatch(/^\d\d:\d\d.UTC, of runs /)
  const [, time = ''] = /at (.*)$/.exec(seen[0] ?? '') ?? []
  expect(await spokenOf(charts.nth(3))).toContain(time)
  await page.keyboard.press('Escape')
  expect(await moments(page)).toContain(latest)

  const box = await charts.nth(1).boundingBox()
  await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 40)
  await expect.poll(async () => new Set(await moments(page)).size).toBe(1)
  expect(await moments(page)).not.toContain(latest)
  expect(await seriousFindings(page)).toEqual([])
})

it('the charts of a queue are of whole steps, on a desk and on a phone', async () => {
  const world = await openWorld()
  await world.client.jobs.enqueue('anything', null)
  for (const viewport of [DESK, { width: 390, height: 844 }]) {
    const { page } = await enter(world, '/queues/default', { viewport, timezoneId: 'UTC' })
    await page.getByRole('slider', { name: /^Chart of Run time/ }).waitFor()
    const ticks = await page.getByText(/^\d\d:\d\d$/).allTextContents()
    expect(ticks.length).toBeGreaterThanOrEqual(3 * 4)
    expect(ticks.filter((tick) => !/:(00|15|30|45)$/.test(tick))).toEqual([])
    await page.getByRole('radio', { name: '24 h' }).click()
    await page.getByText('Runs per 10\u00a0min').waitFor()
    const hours = await page.getByText(/^\d\d:\d\d$/).allTextContents()
    expect(hours.filter((tick) => !/^(00|06|12|18):00$/.test(tick))).toEqual([])
  }
})
