import { Relay } from '@oncue/testing'
import type { Page } from 'playwright-core'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { closeBrowser, DESKTOP, enter, openWorld, PHONE } from './harness.ts'

afterAll(closeBrowser)

it.each([
  ['a phone', PHONE],
  ['a desk', DESKTOP],
])('a server that is dead looks dead on every screen of %s, and is back by itself', async (_, viewport) => {
  const world = await openWorld()
  const relay = await Relay.start(world.url)
  onTestFinished(() => relay.close())
  await world.client.jobs.enqueue('mail_digest', null, { queue: 'mail' })
  const { page, expectTrouble } = await enter(world, '/', { viewport, baseURL: relay.url })
  expectTrouble(/ERR_|Failed to fetch/)
  // Skips the time after which the app reports that the server is gone.
  await page.clock.install()
  await page.reload()
  await page.getByRole('link', { name: /^Backlog: 1,/ }).waitFor()
  if (viewport === DESKTOP) await page.getByRole('slider').first().waitFor()

  relay.target = null
  relay.cut()
  await page.clock.fastForward(30_000)
  await page.getByText(/^Offline, data from \d/).waitFor()
  await expectDead(page, 'Now')
  await page.getByRole('heading', { name: /^Last known: / }).waitFor()
  // Nothing that was not measured: neither the wait of a job nor the age of the data goes on.
  const before = await page.locator('main').textContent()
  await page.clock.fastForward(90_000)
  await page.clock.runFor(2_000)
  expect(await page.locator('main').textContent()).toBe(before)

  for (const name of ['Queues', 'Failures', 'Alerts']) {
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    // Nothing is coming, so no skeleton promises it.
    expect(await page.getByLabel('Loading').count()).toBe(0)
    await expectDead(page, name)
  }

  await world.client.jobs.enqueue('mail_digest', null, { queue: 'mail' })
  relay.target = world.url
  // Skips the pause before the app tries again.
  await page.clock.fastForward(30_000)
  await page.getByRole('button', { name: /^Live/ }).waitFor()
  await page.getByText(/^Offline/).waitFor({ state: 'detached' })
  expect(await page.title()).not.toContain('Offline')
  await page.getByRole('link', { name: 'Now', exact: true }).click()
  await page.getByRole('link', { name: /^Backlog: 2,/ }).waitFor()
})

/** Said once, by the banner; in the title of the window too; and all below it is grey. */
async function expectDead(page: Page, screen: string): Promise<void> {
  await expect.poll(() => page.title()).toBe(`Offline · ${screen} · Oncue`)
  expect(await page.getByText(/offline|not responding|unreachable|no connection/i).allInnerTexts()).toEqual([
    expect.stringMatching(/^Offline, data from \d/),
    expect.stringMatching(/is not responding\. Nothing here is current, and no action is sent\.$/),
  ])
  const grey = page
    .locator('main')
    .locator('xpath=ancestor-or-self::*')
    .evaluateAll((all) => all.some((each) => getComputedStyle(each).filter.includes('grayscale(1)')))
  expect(await grey).toBe(true)
}
