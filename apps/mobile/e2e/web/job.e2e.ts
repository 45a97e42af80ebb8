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
  await page.getByText('Step draw finished').waitFor()
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
