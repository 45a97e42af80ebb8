import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addDemoData } from './demo-data.ts'
import { everyScreen, settled } from './every-screen.ts'
import { closeBrowser, DESKTOP, enter, PHONE, seriousFindings } from './harness.ts'
import { enlargeText, findCut, findShortened } from './large-text.ts'
import { startWorld, type World } from './world.ts'

/** Longer than a row is wide. */
const LONG_NAME = 'newsletters_of_the_northern_hemisphere'

let world: World
beforeAll(async () => {
  world = await startWorld({ ONCUE_ENVIRONMENT: 'production' })
  await addDemoData(world)
  const { client } = world
  await client.jobs.enqueue('import_rows_of_the_accounting_department', {}, { queue: LONG_NAME })
  await client.queues.pause({ queue: LONG_NAME })
  await client.schedules.save({ name: LONG_NAME, cron: '0 * * * *', topic: 'nightly_report' })
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

it.each([
  ['a phone', PHONE],
  ['a desk', DESKTOP],
])('on %s every screen opens from its link, fits, and passes axe, in light and dark', async (_, viewport) => {
  const { page } = await enter(world, '/', { viewport })
  const found: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(await everyScreen(world.client))) {
    await page.goto(path)
    await settled(page)
    const problems = await problemsOf(page)
    if (problems.length > 0) found[name] = problems
  }
  expect(found).toEqual({})
})

it('with text of twice the size, nothing on a phone is cut off or scrolls sideways', async () => {
  const { page } = await enter(world, '/', { viewport: PHONE })
  await enlargeText(page)
  const found: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(await everyScreen(world.client))) {
    await page.goto(path)
    await settled(page)
    const cut = [...(await page.evaluate(findCut)), ...(await page.evaluate(findShortened))]
    if (cut.length > 0) found[name] = cut
  }
  expect(found).toEqual({})
})

it('with text of twice the size, no button breaks the word of a title', async () => {
  const { page } = await enter(world, '/', { viewport: PHONE })
  await enlargeText(page)
  for (const [path, name] of [
    ['/failures', 'Failures'],
    ['/tokens', 'Tokens'],
  ] as const) {
    await page.goto(path)
    await settled(page)
    const lines = await page.getByRole('heading', { name, level: 1 }).evaluate((title) => {
      const words = document.createRange()
      words.selectNodeContents(title)
      return new Set([...words.getClientRects()].map(({ top }) => top)).size
    })
    expect([name, lines]).toEqual([name, 1])
  }
})

it('on a desk, rules and channels fill the page, and alerts are listed beside the open one', async () => {
  const { page } = await enter(world, '/alerts', { viewport: DESKTOP })
  const hint = page.getByText('Choose an alert')
  await hint.waitFor()
  for (const view of ['Rules', 'Channels']) {
    await page.getByRole('radio', { name: view }).click()
    await page.getByRole('button', { name: /^Add a/ }).waitFor()
    expect(await hint.isVisible()).toBe(false)
  }
  await page.getByRole('radio', { name: 'Open' }).click()
  await page
    .getByRole('link', { name: /^Firing/ })
    .first()
    .click()
  await page.waitForURL(/\/alerts\/./)
  await page.getByRole('radio', { name: 'Rules' }).click()
  await page.waitForURL(/\/alerts\?view=rules$/)
})

/** A wall of screens must not be a load. */
const MAX_REQUESTS = 12

it(`no screen that is only looked at makes more than ${MAX_REQUESTS} requests a minute`, async () => {
  // A desk shows a list and what is open beside it.
  const { page } = await enter(world, '/', { viewport: DESKTOP })
  await page.clock.install()
  const counts: Record<string, number> = {}
  for (const [name, path] of Object.entries(await everyScreen(world.client))) {
    await page.goto(path)
    await settled(page)
    counts[name] = await requestsOfMinute(page)
  }
  expect(counts.alerts).toBeGreaterThan(0)
  expect(Object.entries(counts).filter(([, count]) => count > MAX_REQUESTS)).toEqual([])
})

/** By the page's clock. Streams are left out: they would miss the pings of the server, whose clock is slower. */
async function requestsOfMinute(page: Page): Promise<number> {
  const open = new Set<Request>()
  let count = 0
  let answered = Promise.withResolvers<void>()
  const begin = (request: Request) => {
    if (new URL(request.url()).pathname.endsWith('.watch')) return
    count += 1
    open.add(request)
  }
  const end = (request: Request) => {
    if (!open.delete(request)) return
    answered.resolve()
    answered = Promise.withResolvers()
  }
  page.on('request', begin).on('requestfinished', end).on('requestfailed', end)
  for (let second = 0; second < 60; second++) {
    await page.clock.runFor(1_000)
    while (open.size > 0) await answered.promise
  }
  page.off('request', begin).off('requestfinished', end).off('requestfailed', end)
  return count
}

async function problemsOf(page: Page): Promise<string[]> {
  const problems = await page.evaluate(findCut)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.evaluate(twoFrames)
    await page.waitForFunction(isShownIn, colorScheme)
    problems.push(...(await seriousFindings(page)).map((finding) => `${colorScheme}: ${finding}`))
  }
  return problems
}

/** After two frames the page has handled the change. */
const twoFrames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))

function isShownIn(scheme: 'light' | 'dark'): boolean {
  const ink = getComputedStyle(document.querySelector('h1') ?? document.body).color
  const isLightInk = (ink.match(/\d+/g) ?? []).slice(0, 3).every((part) => Number(part) > 128)
  return isLightInk === (scheme === 'dark')
}
