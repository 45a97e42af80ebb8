import { afterAll, describe, expect, it } from 'vitest'
import { closeBrowser, DESKTOP, openWorld, PHONE, seriousFindings, signIn, visit } from './harness.ts'
import { ADMIN_TOKEN } from './world.ts'

afterAll(closeBrowser)

describe('signing in', () => {
  it('leads to the target of a link, and a reload stays there', async () => {
    const world = await openWorld()
    const { page } = await visit(world)
    await signIn(page, '/queues/mail')
    await page.getByRole('heading', { name: 'mail', level: 1 }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/queues/mail')
    await page.reload()
    await page.getByRole('heading', { name: 'mail', level: 1 }).waitFor()
  })

  it.each(['a/b', 'mail.v2', 'a b', '100%'])(
    'the queue %j has a link that can be opened cold',
    async (queue) => {
      const world = await openWorld()
      const { page } = await visit(world)
      await signIn(page, `/queues/${encodeURIComponent(queue)}`)
      await page.getByRole('heading', { name: queue, level: 1, exact: true }).waitFor()
    },
  )

  it('says that a token was rejected', async () => {
    const world = await openWorld()
    const { page, expectTrouble } = await visit(world)
    expectTrouble(/401/)
    await page.goto('/')
    await page.getByLabel('Token').fill(`oncue_${'wrong'.padEnd(43, '0')}`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The token was rejected').waitFor()
  })

  it('tests a connection without signing in', async () => {
    const world = await openWorld()
    const { page } = await visit(world)
    await page.goto('/')
    await page.getByLabel('Token').fill(ADMIN_TOKEN)
    await page.getByRole('button', { name: 'Test the connection' }).click()
    await page.getByText('Connected').waitFor()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  it('ends when the token is revoked, and continues on the same page', async () => {
    const world = await openWorld()
    const { page, expectTrouble } = await visit(world)
    expectTrouble(/401/)
    const token = await world.tokenOf('viewer', 'short-lived')
    await signIn(page, '/queues', token)
    await page.getByRole('heading', { name: 'Queues', level: 1 }).waitFor()
    for (const { id, name } of await world.client.tokens.list({}))
      if (name === 'short-lived') await world.client.tokens.revoke({ id })
    await page.getByText('Your session has expired').waitFor()
    await page.getByLabel('Token').fill(ADMIN_TOKEN)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Queues', level: 1 }).waitFor()
  })

  it.each([
    ['a phone', PHONE],
    ['a desk', DESKTOP],
  ])('passes axe on %s', async (_, viewport) => {
    const world = await openWorld()
    const { page } = await visit(world, { viewport })
    await page.goto('/')
    await page.getByLabel('Token').waitFor()
    expect(await seriousFindings(page)).toEqual([])
  })
})

describe('the shell', () => {
  it.each([
    ['a phone', PHONE],
    ['a desk', DESKTOP],
  ])('has the four tabs on %s, and back works', async (_, viewport) => {
    const world = await openWorld()
    const { page } = await visit(world, { viewport })
    await signIn(page)
    for (const name of ['Failures', 'Queues', 'Alerts', 'Now']) {
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { name, level: 1 }).waitFor()
    }
    await page.goBack()
    await page.getByRole('heading', { name: 'Alerts', level: 1 }).waitFor()
  })

  it('says in words that it is live, and pauses', async () => {
    const world = await openWorld()
    const { page } = await visit(world)
    await signIn(page)
    await page.getByText('Live', { exact: true }).click()
    await page.getByText('Updates paused').click()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('knows when a page does not exist', async () => {
    const world = await openWorld()
    const { page } = await visit(world)
    await signIn(page, '/nowhere')
    await page.getByText('Page not found').waitFor()
  })
})
