import type { Page } from 'playwright-core'
import { encode } from 'uqr'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeBrowser, DESKTOP, enter, expectLocked, hold, PHONE, visit } from './harness.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

describe('a device', () => {
  it.each([
    // Without clipboard-write it copies as over plain http.
    ['a phone', PHONE, ['clipboard-read']],
    ['a desk', DESKTOP, ['clipboard-read', 'clipboard-write']],
  ])('is paired by the code shown on %s, listed, renamed and revoked', async (_, viewport, permissions) => {
    const { page } = await enter(world, '/settings', { viewport, permissions })
    await page.getByRole('button', { name: 'Pair a device' }).click()
    await page.getByRole('radio', { name: 'Viewer' }).click()
    await page.getByRole('button', { name: 'Create a code' }).click()
    await page.getByText(/^For one device, as viewer\. Valid for/).waitFor()
    await page.getByRole('button', { name: 'Copy the link' }).click()
    await page.getByText('Copied', { exact: true }).waitFor()
    const link = await page.evaluate(() => navigator.clipboard.readText())
    await page.getByText(new URL(link).searchParams.get('code') ?? '', { exact: true }).waitFor()
    expect(await darkSquares(page)).toEqual(encode(link, { ecc: 'M', border: 2 }).data)

    const { page: other, expectTrouble } = await visit(world)
    await other.goto(link)
    await other.getByLabel('Name of this device').fill('Tablet')
    await other.getByRole('button', { name: 'Pair', exact: true }).click()
    await other.getByRole('heading', { name: 'Now', level: 1 }).waitFor()

    await page.getByRole('button', { name: 'Close' }).first().click()
    await page.getByRole('link', { name: /^Tablet, viewer, / }).click()
    await page.getByLabel('Name', { exact: true }).fill('Kitchen tablet')
    await page.getByRole('button', { name: 'Save the name' }).click()
    await page.getByRole('link', { name: /^Kitchen tablet, viewer, / }).click()

    expectTrouble(/401/)
    await hold(page, 'Hold to revoke the device “Kitchen tablet”')
    await page.getByText('“Kitchen tablet” revoked').waitFor()
    await page.getByRole('link', { name: /^Kitchen tablet/ }).waitFor({ state: 'detached' })
    await other.getByText('Your session has expired').waitFor()
  })

  it('is hidden from a viewer, with the reason', async () => {
    const { page } = await enter(world, '/settings', { token: await world.tokenOf('viewer') })
    await page.getByText('Only operators and admins see the list of devices.').waitFor()
    await expectLocked(page, 'Pair a device', 'You are a viewer. Operators and admins can do this.')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})

describe('the theme', () => {
  it("stays as chosen, whatever the system's theme, and survives a reload", async () => {
    const { page } = await enter(world, '/settings', { colorScheme: 'light' })
    const ink = () => page.locator('h1').evaluate((heading) => getComputedStyle(heading).color)
    const inLight = await ink()
    await page.getByRole('radio', { name: 'Dark' }).click()
    await expect.poll(ink).not.toBe(inLight)
    const inDark = await ink()
    await page.reload()
    await page.getByRole('radio', { name: 'Dark', checked: true }).waitFor()
    expect(await ink()).toBe(inDark)
    await page.getByRole('radio', { name: 'System' }).click()
    await expect.poll(ink).toBe(inLight)
  })
})

describe('signing out', () => {
  it('ends the session on the server: its cookie is refused from then on', async () => {
    const { page } = await enter(world, '/settings')
    const [cookie] = await page.context().cookies()
    const jobs = () =>
      fetch(`${world.url}/api/jobs`, { headers: { cookie: `${cookie?.name}=${cookie?.value}` } })
    expect((await jobs()).status).toBe(200)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Oncue' }).waitFor()
    expect((await jobs()).status).toBe(401)
    expect(await page.context().cookies()).toEqual([])
    await page.goto('/queues')
    await page.getByRole('heading', { name: 'Sign in to Oncue' }).waitFor()
  })
})

/** The code as a camera sees it. Runs of dark squares are drawn as paths: `M4 2h7v1h-7z` for seven in the third row. */
async function darkSquares(page: Page): Promise<boolean[][]> {
  const image = page.getByRole('img', { name: /^Pairing code/ })
  const size = Number((await image.locator('svg').getAttribute('viewBox'))?.split(' ')[2])
  const squares = Array.from({ length: size }, () => Array<boolean>(size).fill(false))
  const path = (await image.locator('path').getAttribute('d')) ?? ''
  for (const [, x, y, length] of path.matchAll(/M(\d+) (\d+)h(\d+)/g))
    squares[Number(y)]?.fill(true, Number(x), Number(x) + Number(length))
  return squares
}
