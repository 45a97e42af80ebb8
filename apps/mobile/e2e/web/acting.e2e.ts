import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeBrowser, DESKTOP, enter, visit } from './harness.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
  for (const queue of ['mail', 'media', 'reports'])
    await world.client.jobs.enqueueMany([{ topic: 'anything', queue, payload: null }])
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

const isPaused = async (queue: string) => {
  const { queues } = await world.client.health.get()
  return queues.find((each) => each.queue === queue)?.paused != null
}

describe('pausing a queue', () => {
  it('happens at once, and is undone by resuming', async () => {
    const { page } = await enter(world, '/queues/mail')
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.getByText('“mail” paused', { exact: true }).waitFor()
    await page.getByText(/^Paused by admin/).waitFor()
    expect(await isPaused('mail')).toBe(true)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('“mail” resumed', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
    expect(await isPaused('mail')).toBe(false)
  })

  it('is locked for a viewer, with the reason', async () => {
    const { page } = await enter(world, '/queues/mail', { token: await world.tokenOf('viewer') })
    const pause = page.getByRole('button', { name: 'Pause', exact: true })
    expect(await pause.getAttribute('aria-disabled')).toBe('true')
    await pause.click({ force: true })
    await page.getByText('You are a viewer. Operators and admins can do this.').waitFor()
    expect(await isPaused('mail')).toBe(false)
  })
})

describe('without a network', () => {
  it('no action is sent, nor by itself when the network is back', async () => {
    const { page, expectTrouble } = await enter(world, '/queues/media')
    expectTrouble(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK/)
    // Skips the time after which the app reports that it is offline.
    await page.clock.install()
    await page.reload()
    const pause = page.getByRole('button', { name: 'Pause', exact: true })
    await pause.waitFor()

    await page.context().setOffline(true)
    // The app has usually not noticed yet: it sends the call once and reports the failure.
    await pause.click({ force: true })
    await page.getByRole('button', { name: 'Close' }).waitFor()
    await page.clock.fastForward(30_000)
    await page.getByText(/^Offline, data from/).waitFor()
    await pause.click({ force: true })
    await page.getByText('You are offline. Actions are disabled until you reconnect.').waitFor()

    const sent: string[] = []
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
    await page.context().setOffline(false)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.clock.fastForward(60_000)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(sent).toEqual([])
    expect(await isPaused('media')).toBe(false)
  })
})

describe('pairing', () => {
  it('makes this browser a device through a link that works once', async () => {
    const { url } = await world.client.pairings.create()
    const { pathname, search } = new URL(url)
    const { page } = await visit(world)
    await page.goto(pathname + search)
    await page.getByLabel('Name of this device').fill('The kitchen tablet')
    await page.getByRole('button', { name: 'Pair', exact: true }).click()
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor()
    expect((await world.client.devices.list()).map(({ name }) => name)).toContain('The kitchen tablet')

    const { page: second, expectTrouble } = await visit(world)
    expectTrouble(/4\d\d/)
    await second.goto(pathname + search)
    await second.getByRole('button', { name: 'Pair', exact: true }).click()
    await second
      .getByText(/used|expired|unknown/i)
      .first()
      .waitFor()
  })
})

describe('with a keyboard', () => {
  it('j and k move, o opens beside the list, and back closes it', async () => {
    const { page } = await enter(world, '/queues', { viewport: DESKTOP })
    await page.getByRole('link', { name: /^mail, / }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const current = page.locator('main [aria-current="true"]')
    const name = (await current.textContent())?.split(',')[0] ?? ''
    await page.keyboard.press('o')
    await page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
    await page.getByRole('link', { name: /^reports, / }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name, level: 1, exact: true }).waitFor({ state: 'detached' })
  })
})
