import { afterAll, beforeAll, expect, it } from 'vitest'
import { closeBrowser, enter } from './harness.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
  const input = {
    type: 'object',
    properties: { userId: { type: 'string' }, copies: { type: 'integer', maximum: 10 } },
    required: ['userId'],
    additionalProperties: false,
  }
  await world.store.announce([{ topic: 'mail_digest', input, output: {}, policy: {} }])
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

it('a job is enqueued by hand, checked by the API, and opened', async () => {
  const { page, expectTrouble } = await enter(world, '/topics')
  await page.getByRole('link', { name: /^mail_digest/ }).click()
  await page.getByRole('button', { name: 'Enqueue…' }).click()
  const sheet = page.getByRole('dialog')
  await sheet.getByLabel('userId').fill('u1')
  await sheet.getByLabel('copies (optional)').fill('11')
  expectTrouble(/400/)
  await sheet.getByRole('button', { name: 'Enqueue', exact: true }).click()
  await sheet
    .getByText(/copies/)
    .and(sheet.getByText(/10/))
    .first()
    .waitFor()
  await sheet.getByLabel('copies (optional)').fill('2')
  await sheet.getByRole('button', { name: 'Enqueue', exact: true }).click()
  await page.getByRole('button', { name: 'Open the job' }).click()
  await page.waitForURL(/\/jobs\/[0-9a-f-]{36}$/)
  const { items } = await world.client.jobs.list({ topic: 'mail_digest' })
  expect(items).toHaveLength(1)
  const [job] = items
  expect((await world.client.jobs.get(job?.id ?? '')).payload).toEqual({ userId: 'u1', copies: 2 })
})
