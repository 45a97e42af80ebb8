import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addDemoData } from './demo-data.ts'
import { everyScreen, settled } from './every-screen.ts'
import { closeBrowser, enter, PHONE } from './harness.ts'
import { enlargeText, findCut, findSizes, USUAL_SIZE } from './large-text.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
  await addDemoData(world)
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

it('text grows with the font size of the browser, all of it, and none is cut on a phone', async () => {
  const { page } = await enter(world, '/settings', { viewport: PHONE })
  await settled(page)
  const usual = await page.evaluate(findSizes)
  await enlargeText(page, 20)
  await page.goto('/settings')
  await settled(page)
  const large = await page.evaluate(findSizes)
  const grown = usual.map((each) => ({ ...each, size: each.size * 1.25, line: each.line * 1.25 }))
  // Words and counts of a tab share the width of the phone: they grow less.
  const isOfTab = ({ text, isCount }: { readonly text: string; readonly isCount: boolean }) =>
    isCount || ['Now', 'Failures', 'Jobs', 'Queues', 'Alerts', 'More'].includes(text)
  expect(large.filter((each) => !isOfTab(each))).toEqual(grown.filter((each) => !isOfTab(each)))
  expect(large.length).toBeGreaterThan(20)

  const found: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(await everyScreen(world.client))) {
    await page.goto(path)
    await settled(page)
    const cut = await page.evaluate(findCut)
    const fixed = (await page.evaluate(findSizes)).filter(({ size }) => size < (11 / USUAL_SIZE) * 20)
    if (cut.length + fixed.length > 0) found[name] = [...cut, ...fixed]
  }
  expect(found).toEqual({})
})

describe('a dialog', () => {
  const focused = () => ({
    isInDialog: document.activeElement?.closest('[role="dialog"]') !== null,
    name: document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent,
  })

  it('takes the focus to its first control and gives it back', async () => {
    const { page } = await enter(world, '/queues/mail')
    await settled(page)
    const opener = page.getByRole('button', { name: 'Pause for…' })
    await opener.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await expect
      .poll(() => page.evaluate(focused))
      .toEqual({ isInDialog: true, name: expect.stringMatching(/Until resumed/) })
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => opener.evaluate((each) => each === document.activeElement)).toBe(true)
  })

  it('that asks for text begins in its first field', async () => {
    const { page } = await enter(world, '/queues/mail')
    await settled(page)
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByRole('dialog').waitFor()
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT')
  })

  it('that only confirms begins with Close, and one that follows another returns to where that was opened', async () => {
    const [job] = (await world.client.jobs.list({ status: 'failed', limit: 1 })).items
    const { page } = await enter(world, `/jobs/${job?.id}`)
    await settled(page)
    const more = page.getByRole('button', { name: 'More', exact: true })
    await more.click()
    await expect.poll(() => page.evaluate(focused)).toEqual({ isInDialog: true, name: 'Copy id' })
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog', { name: /^Delete/ }).waitFor()
    await expect.poll(() => page.evaluate(focused)).toEqual({ isInDialog: true, name: 'Close' })
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => more.evaluate((each) => each === document.activeElement)).toBe(true)
  })
})

it('times are in the zone of the device until UTC is chosen, which this browser remembers', async () => {
  const [job] = (await world.client.jobs.list({ status: 'failed', limit: 1 })).items
  const { page } = await enter(world, `/jobs/${job?.id}`, { timezoneId: 'Asia/Kolkata' })
  await page
    .getByText(/, \d\d:\d\d:\d\d\u00a0UTC\+5:30$/)
    .first()
    .waitFor()
  await page.goto('/settings')
  await page.getByRole('radio', { name: 'UTC' }).click()
  await page.getByText(/^Now \d\d:\d\d\u00a0UTC$/).waitFor()
  await page.goto(`/jobs/${job?.id}`)
  await page
    .getByText(/, \d\d:\d\d:\d\d\u00a0UTC$/)
    .first()
    .waitFor()
  expect(await page.getByText('UTC+5:30').count()).toBe(0)
})
