import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { closeBrowser, DESKTOP, enter, expectLocked, hold } from './harness.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ ONCUE_WEBHOOK_PRIVATE_ADDRESSES: 'true' })
  await world.client.jobs.enqueueMany([{ topic: 'digest', queue: 'mail', payload: null }])
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

describe('an alert', () => {
  it('fires by a new rule, is delivered, acknowledged, snoozed and resolved', async () => {
    const { url, received } = await listen()
    const { page } = await enter(world, '/alerts')
    const view = (name: string) => page.getByRole('radio', { name, exact: true }).click()

    await view('Channels')
    await page.getByRole('button', { name: 'Add a channel' }).click()
    await page.getByLabel('Name', { exact: true }).fill('pager')
    await page.getByLabel('Address').fill(url)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('heading', { name: 'pager added' }).waitFor()
    await page.getByRole('button', { name: 'I saved it' }).click()
    await page.getByRole('link', { name: /^webhook pager, on/ }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('The test was delivered').waitFor()
    expect(received.length).toBe(1)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click()

    await view('Rules')
    await page.getByRole('button', { name: 'Add a rule' }).click()
    await page.getByRole('button', { name: 'Queue paused too long' }).click()
    await page.getByLabel('Name', { exact: true }).fill('mail must run')
    await page.getByLabel('Queue', { exact: true }).fill('mail')
    await page.getByLabel('Limit, in minutes').fill('0')
    await page.getByLabel('Must last, in minutes').fill('0')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('link', { name: /^Rule mail must run, on, mail/ }).waitFor()

    await world.client.queues.pause({ queue: 'mail' })
    await view('Open')
    await page.getByRole('link', { name: /^Firing: mail/ }).click()
    await page.getByRole('heading', { name: 'Queue paused too long', level: 1 }).waitFor()
    await page.getByText('no one').waitFor()
    await expect.poll(() => received.length).toBe(2)

    const token = await world.tokenOf('viewer', 'onlooker')
    const { page: theirs } = await enter(world, new URL(page.url()).pathname, { token })
    for (const name of ['Acknowledge', 'Snooze'])
      await expectLocked(theirs, name, 'You are a viewer. Operators and admins can do this.')

    await page.getByRole('button', { name: 'Acknowledge' }).click()
    await page.getByText('Acknowledged: no more notifications').waitFor()
    await page.getByText(/^admin, \d/).waitFor()
    expect(await state()).toBe('acked')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('no one').waitFor()
    expect(await state()).toBe('firing')

    await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    await page.getByRole('link', { name: 'Snooze: 1 hour' }).click()
    await page.getByText(/^admin, until /).waitFor()
    expect(await state()).toBe('snoozed')
    await page.getByRole('button', { name: 'Unsnooze' }).click()
    await page.getByText('No longer snoozed').waitFor()
    await page.getByText('no one').waitFor()
    expect(await state()).toBe('firing')

    // A condition must be over for a minute to resolve; disabling the rule resolves it at once.
    await page.goBack()
    await view('Rules')
    await page.getByRole('link', { name: /^Rule mail must run/ }).click()
    await page.getByRole('switch', { name: 'Enabled' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Rule saved').waitFor()
    await view('Open')
    await page.getByText('No alerts', { exact: true }).waitFor()
    await view('Resolved')
    await page.getByRole('link', { name: /^Resolved: mail/ }).click()
    await page.getByText(/, after /).waitFor()
    expect(await page.getByRole('button', { name: 'Acknowledge' }).count()).toBe(0)
    await expect.poll(() => received.length).toBe(3)
  })
})

const state = async () => (await world.client.alerts.list({})).items[0]?.state

describe('a rule', () => {
  it('is changed and deleted', async () => {
    const rule = { kind: 'stalled', queue: 'media', threshold: 10, forSeconds: 60 } as const
    const { id } = await world.client.alerts.createRule({ ...rule, name: 'media moves' })
    const mine = async () => (await world.client.alerts.rules()).find((each) => each.id === id)
    const { page } = await enter(world, '/alerts?view=rules', { viewport: DESKTOP })
    await page.getByRole('link', { name: /^Rule media moves, on/ }).click()
    await page.getByLabel('Limit, in jobs').fill('many')
    await page.getByText('Enter a number, such as 5').waitFor()
    await page.getByLabel('Limit, in jobs').fill('25')
    await page.getByRole('switch', { name: 'Enabled' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Rule saved').waitFor()
    expect(await mine()).toMatchObject({ threshold: 25, enabled: false })

    await page.getByRole('link', { name: /^Rule media moves, off, .*25 or more jobs/ }).click()
    await hold(page, 'Hold to delete this rule')
    await page.getByText('“media moves” deleted').waitFor()
    await page.getByRole('link', { name: /^Rule media moves/ }).waitFor({ state: 'detached' })
    expect(await mine()).toBeUndefined()
  })
})

describe('a channel', () => {
  it('whose test fails says why, and is removed', async () => {
    const { url, answer } = await listen()
    answer(500)
    await world.client.channels.create({ kind: 'webhook', name: 'broken', url })
    const { page } = await enter(world, '/alerts?view=channels', { viewport: DESKTOP })
    await page.getByRole('link', { name: /^webhook broken, on/ }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('The test was not delivered').waitFor()
    await page.getByRole('dialog').getByText(/500/).first().waitFor()
    await hold(page, 'Hold to remove this channel')
    await page.getByRole('link', { name: /^webhook broken/ }).waitFor({ state: 'detached' })
    const channels = await world.client.channels.list()
    expect(channels.map(({ name }) => name)).not.toContain('broken')
  })
})

describe('a viewer', () => {
  it('reads rules and channels, and sees who may change them', async () => {
    const { page } = await enter(world, '/alerts?view=rules', { token: await world.tokenOf('viewer') })
    await expectLocked(page, 'Add a rule', 'You are a viewer. Admins can do this.')
    await page.getByRole('link', { name: /^Rule Jobs wait too long/ }).click()
    await expectLocked(page, 'Save', 'You are a viewer. Admins can do this.')
    await page.getByRole('button', { name: 'Close' }).first().click()
    await page.getByRole('radio', { name: 'Channels' }).click()
    await expectLocked(page, 'Add a channel', 'You are a viewer. Admins can do this.')
  })

  it('never meets a locked button that does not say so yet', async () => {
    const { page } = await enter(world, '/alerts?view=rules', { token: await world.tokenOf('viewer') })
    await page.evaluate(() => {
      new MutationObserver(() => {
        const button = document.querySelector('[role=button][aria-label="Add a channel"]')
        if (button && !document.body.dataset['met']) {
          document.body.dataset['met'] = String(button.getAttribute('aria-disabled'))
        }
      }).observe(document.body, { childList: true, subtree: true })
    })
    await page.getByRole('radio', { name: 'Channels' }).click()
    await page.getByRole('button', { name: 'Add a channel' }).waitFor()
    expect(await page.locator('body').getAttribute('data-met')).toBe('true')
  })
})

/** The receiver of alerts: a real server on this machine. */
async function listen() {
  const received: string[] = []
  let status = 200
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push(body)
    response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const answer = (next: number) => {
    status = next
  }
  return { url: `http://127.0.0.1:${port}/hook`, received, answer }
}
