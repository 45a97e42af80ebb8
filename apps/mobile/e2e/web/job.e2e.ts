import { afterAll, expect, it } from 'vitest'
import { closeBrowser, enter, openWorld } from './harness.ts'

afterAll(closeBrowser)

it('a job is watched from waiting to its result, and retried', async () => {
  const world = await openWorld()
  const payload = { title: 'Quarterly', pages: 12_345_678_901 }
  const id = await world.client.jobs.enqueue('report', payload)
  const { page } = await enter(world, `/jobs/${id}`)
  await page.getByRole('heading', { name: 'report', level: 1 }).waitFor()
  await page.getByText('12345678901').waitFor()

  const [begun, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await world.work({
    async report(_, ctx) {
      await ctx.log.info('12 pages to write')
      await ctx.progress(0.25)
      await begun.promise
      await ctx.step('draw', async () => null)
      await rest.promise
      return { url: 'report.pdf' }
    },
  })
  await page.getByText('Run 1 is running').waitFor()
  await page.getByText('12 pages to write').waitFor()
  await page.getByText('25%').waitFor()
  begun.resolve()
  await page.getByText('Step “draw” finished').waitFor()
  rest.resolve()
  await page.getByText('Run 1 completed').waitFor()
  await page.getByText('report.pdf').waitFor()

  await page.getByRole('button', { name: 'Retry', exact: true }).click()
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Retry 1.job/ })
    .click()
  await page.getByText('Run 2 completed').waitFor()
  await page.getByText('Retried by admin').waitFor()
  expect((await world.client.jobs.get(id)).run).toBe(2)
})

it('a job that failed for its payload gets another one, is compared and held, and completes', async () => {
  const world = await openWorld()
  const id = await world.client.jobs.enqueue('payout', { amount: -5, to: 'Ada' }, { maxRetries: 0 })
  await world.work({
    async payout(job) {
      const { amount } = job.payload as { amount: number }
      if (amount < 0) throw new RangeError('amount is negative')
      return { paid: amount }
    },
  })
  const { page } = await enter(world, `/jobs/${id}`)
  await page.getByText('Run 1 failed').waitFor()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('button', { name: 'Edit payload and retry' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Payload').fill('{"amount": 5, ')
  await dialog.getByText(/^This is not valid JSON/).waitFor()
  await dialog.getByLabel('Payload').fill('{"amount": 5, "to": "Ada"}')
  await dialog.getByRole('button', { name: 'Review the changes' }).click()
  await dialog.getByText('− -5').waitFor()
  await dialog.getByText('+ 5').waitFor()
  await dialog.getByRole('button', { name: 'Hold to retry' }).click({ delay: 1_500 })
  await page.getByText('Run 2 completed').waitFor()
  await page.getByText('Payload changed by admin').waitFor()
  expect(await world.client.jobs.get(id)).toMatchObject({ payload: { amount: 5 }, result: { paid: 5 } })
})

it('the database page says what doctor says', async () => {
  const world = await openWorld()
  const { page } = await enter(world, '/database')
  await page.getByRole('heading', { name: 'Database', level: 1 }).waitFor()
  await page.getByText('Claim plan').waitFor()
})
