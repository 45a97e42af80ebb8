import { until } from '@oncue/testing'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { closeBrowser, enter, seriousFindings } from './harness.ts'
import { startWorld, type World } from './world.ts'

const DESK = { width: 1440, height: 900 }
const MANY = 240
/** For machines that have other things to do. */
const PATIENCE_MS = 60_000

let world: World
beforeAll(async () => {
  world = await startWorld()
  const jobs = (topic: string, queue: string, many: number) =>
    world.client.jobs.enqueueMany(
      Array.from({ length: many }, (_, n) => ({
        ...{ topic, queue, payload: { city: `city ${n}` }, meta: { tenant: `t${n % 7}` }, maxRetries: 0 },
      })),
    )
  await jobs('digest', 'mail', MANY / 2)
  await world.work({
    async digest() {
      throw new TypeError('no such user')
    },
  })
  await until(async () => (await world.client.jobs.stats({ queue: 'mail' })).failed === MANY / 2, PATIENCE_MS)
  await jobs('report', 'reports', MANY / 2)
  await jobs('thumbnail', 'images', 10)
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

const status = (page: Page, text: string) => page.getByRole('status').getByText(text).waitFor()
const rows = (page: Page) => page.getByRole('table', { name: 'Jobs' }).getByRole('link')
const scrolledTo = (page: Page) => page.getByTestId('job-list').evaluate((list) => list.scrollTop)
const paramsOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

it('a low window has every entry of the rail in sight', async () => {
  // With a badge above them.
  const production = await startWorld({ ONCUE_ENVIRONMENT: 'production' })
  onTestFinished(() => production.close())
  const { page } = await enter(production, '/database', { viewport: { width: 1024, height: 768 } })
  const below = await page.getByRole('link', { name: 'Database', exact: true }).evaluate((link) => {
    let list = link.parentElement
    while (list && getComputedStyle(list).overflowY !== 'auto') list = list.parentElement
    return link.getBoundingClientRect().bottom - (list?.getBoundingClientRect().bottom ?? 0)
  })
  expect(below).toBeLessThanOrEqual(0)
})

describe('desk at 1440', () => {
  it('sorts, filters and previews jobs in a table, and finds its place again', async () => {
    const { page } = await enter(world, '/jobs', { viewport: DESK })
    await status(page, `${MANY + 10} jobs, newest first`)
    await rows(page).first().waitFor()

    await page.getByRole('button', { name: 'Created, newest first' }).click()
    await status(page, `${MANY + 10} jobs, oldest first`)
    await page
      .getByRole('columnheader', { name: 'Created' })
      .and(page.locator('[aria-sort=ascending]'))
      .waitFor()
    const { items } = await world.client.jobs.list({ order: 'oldest', limit: 1 })
    const oldest = items[0]?.id.slice(-8) ?? expect.unreachable()
    await page.getByRole('row').nth(1).getByText(`…${oldest}`).waitFor()

    // Nothing jumps: what is pressed stays under the pointer.
    const failed = page.getByRole('button', { name: 'Failed', exact: true })
    const before = await failed.boundingBox()
    await failed.click()
    await page.getByRole('button', { name: 'Waiting', exact: true }).click()
    await status(page, `${MANY + 10} jobs, oldest first`)
    expect(await failed.boundingBox()).toEqual(before)
    await page.getByRole('button', { name: 'Waiting', exact: true }).click()
    await status(page, `${MANY / 2} jobs, oldest first`)
    await page.getByRole('button', { name: 'Waiting', exact: true }).click()

    await page.getByRole('button', { name: 'Time', exact: true }).click()
    const sheet = page.getByRole('dialog')
    await sheet.getByLabel('From').fill('2026-02-31 10:00')
    await sheet.getByRole('button', { name: 'Apply' }).click()
    await sheet.getByText('Write it like 2026-11-18 03:12.').waitFor()
    await sheet.getByLabel('From').fill('2020-01-01 00:00')
    await sheet.getByLabel('To').fill('2099-01-01 00:00')
    await sheet.getByRole('button', { name: 'Apply' }).click()
    await sheet.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Remove filter From 1 Jan.* to 1 Jan/ }).waitFor()
    expect(paramsOf(page)).toMatchObject({ status: 'failed,waiting', order: 'oldest' })
    expect(Object.keys(paramsOf(page)).sort()).toEqual(['createdFrom', 'createdTo', 'order', 'status'])

    // A link restores it all, and this device remembers how dense it is.
    const heightOf = async () => (await page.getByRole('row').nth(1).boundingBox())?.height
    expect(await heightOf()).toBe(48)
    await page.getByRole('button', { name: 'View', exact: true }).click()
    await sheet.getByRole('radio', { name: 'Compact' }).click()
    await sheet.getByRole('switch', { name: 'Meta' }).click()
    await sheet.getByRole('button', { name: 'Close' }).click()
    await page.reload()
    await status(page, `${MANY + 10} jobs, oldest first`)
    await page.getByRole('columnheader', { name: 'Meta' }).waitFor()
    expect(await heightOf()).toBe(32)

    // What is previewed is not what is under the pointer.
    await page.getByRole('button', { name: `Preview …${oldest}` }).click()
    const preview = page.getByRole('complementary', { name: `Preview of …${oldest}` })
    await preview.getByText('"city 0"').waitFor()
    await preview.getByText('no such user').waitFor()
    const colourOf = (at: number) =>
      rows(page)
        .nth(at)
        .evaluate((row) => getComputedStyle(row).backgroundColor)
    await rows(page)
      .nth(3)
      .hover({ position: { x: 200, y: 10 } })
    const colours = [await colourOf(0), await colourOf(3), await colourOf(5)]
    expect(new Set(colours).size).toBe(3)
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await preview.waitFor({ state: 'detached' })

    await page.getByTestId('job-list').evaluate((list) => {
      list.scrollTop = 1_500
    })
    await expect.poll(() => scrolledTo(page)).toBe(1_500)
    const row = page.getByRole('link', { name: /^digest in mail, Failed/ }).first()
    await row.waitFor()
    await page.mouse.click(600, 500)
    await page.waitForURL(/\/jobs\/[0-9a-f-]{36}/)
    await page.getByRole('heading', { name: 'digest', level: 1 }).waitFor()
    await page.goBack()
    await page.waitForURL(/\/jobs\?/)
    await rows(page).first().waitFor()
    await expect.poll(() => scrolledTo(page)).toBe(1_500)
  })

  it('closes a dialog with Escape also for those who asked for less movement', async () => {
    const { page } = await enter(world, '/jobs', { viewport: DESK, reducedMotion: 'reduce' })
    await page.keyboard.press('?')
    const keys = page.getByRole('dialog', { name: 'Keys' })
    await keys.getByText('g j', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await keys.waitFor({ state: 'detached' })
  })

  it('jumps anywhere by the palette, which takes the focus and gives it back', async () => {
    const { page } = await enter(world, '/jobs', { viewport: DESK })
    const select = page.getByRole('button', { name: 'Select', exact: true })
    await select.focus()
    const palette = page.getByRole('dialog', { name: 'Search or jump' })
    const line = palette.getByRole('combobox', { name: 'Search or jump' })
    const isFocused = (name: string) =>
      page.evaluate((label) => document.activeElement?.getAttribute('aria-label') === label, name)
    const active = () => palette.locator('[role=option][aria-selected=true]').textContent()

    await page.keyboard.press('Control+k')
    await line.waitFor()
    await expect.poll(() => isFocused('Search or jump')).toBe(true)
    expect(await active()).toContain('Now')
    await page.keyboard.press('ArrowDown')
    await expect.poll(active).toContain('Failures')
    const named = await line.getAttribute('aria-activedescendant')
    expect(await palette.locator('[role=option][aria-selected=true]').getAttribute('id')).toBe(named)
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await palette.waitFor({ state: 'detached' })
    await expect.poll(() => isFocused('Select')).toBe(true)

    // A job by the digits that a row shows.
    const [job] = (await world.client.jobs.list({ queue: 'images', limit: 1 })).items
    const jobId = job?.id ?? expect.unreachable()
    await page.keyboard.press('Control+k')
    await line.fill(jobId.slice(-8))
    await palette.getByRole('option', { name: `thumbnail …${jobId.slice(-8)}` }).click()
    await page.waitForURL(new RegExp(jobId))

    // Actions: a queue is paused, and can be resumed.
    await page.keyboard.press('Control+k')
    await line.fill('pause reports')
    await page.keyboard.press('Enter')
    await page.getByText('“reports” paused').waitFor()
    await page.keyboard.press('Control+k')
    await line.fill('dark')
    await page.keyboard.press('Enter')
    const rail = page.getByRole('navigation')
    await expect
      .poll(() => rail.evaluate((element) => getComputedStyle(element).backgroundColor))
      .toBe('rgb(26, 25, 30)')

    await page.keyboard.press('Control+k')
    await line.fill('reports')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/queues\/reports$/)
    await page.getByRole('heading', { name: 'reports', level: 1 }).waitFor()

    await page.keyboard.press('?')
    const keys = page.getByRole('dialog', { name: 'Keys' })
    await keys.getByText('g j', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await keys.waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('j')
    await page.waitForURL(/\/jobs$/)
  })
})
