import { afterAll, expect, it } from 'vitest'
import { closeBrowser, DESKTOP, enter, hold, openWorld } from './harness.ts'

afterAll(closeBrowser)

const MANY = 120

it('a bulk operation is found on another screen by a colleague, opened and stopped, and its starter sees by whom', async () => {
  const world = await openWorld()
  const [night, day] = [
    await world.tokenOf('operator', 'night shift'),
    await world.tokenOf('operator', 'day shift'),
  ]
  const worker = await world.work({
    async mail_digest() {
      throw new TypeError('no such user')
    },
  })
  await world.client.jobs.enqueueMany(
    Array.from({ length: MANY }, () => ({
      topic: 'mail_digest',
      queue: 'mail',
      payload: null,
      maxRetries: 0,
    })),
  )
  await expect.poll(async () => (await world.client.jobs.stats({})).failed).toBe(MANY)
  await worker.stop()

  const { page: first } = await enter(world, '/failures', { token: night })
  const { page: second } = await enter(world, '/schedules', { token: day, viewport: DESKTOP })
  await first.getByRole('link', { name: /^TypeError: no such user/ }).click()
  await first.getByRole('button', { name: `Retry these ${MANY}` }).click()
  await first.getByRole('radio', { name: 'Spread over 10 min' }).click()
  await hold(first, /^Hold to retry 120.jobs/)
  await first.getByRole('heading', { name: `Retrying ${MANY} jobs` }).waitFor()

  await second.getByRole('link', { name: /^Retrying \d+ of 120, by night shift$/ }).click()
  await second.getByRole('heading', { name: `Retrying ${MANY} jobs` }).waitFor()
  expect(new URL(second.url()).pathname).toBe(new URL(first.url()).pathname)
  await second.getByRole('button', { name: 'Stop', exact: true }).click()
  await second.getByText(/^Stopped: retried \d+$/).waitFor()

  for (const page of [first, second]) {
    await page.getByRole('heading', { name: /^Stopped: retried \d+ of 120$/ }).waitFor()
    await page.getByText('day shift', { exact: true }).waitFor()
    await page.getByText('night shift', { exact: true }).waitFor()
  }
  const [operation] = (await world.client.bulkOperations.list({})).items
  expect(operation).toMatchObject({ status: 'stopped', stoppedBy: 'day shift', by: { name: 'night shift' } })
  const { failed, pending } = await world.client.jobs.stats({})
  expect({ failed, pending }).toEqual({ failed: MANY - (operation?.done ?? 0), pending: operation?.done })

  // It is in the list, and what was done leads to it.
  await second.goto('/activity')
  await second
    .getByRole('link', { name: /day shift/ })
    .first()
    .click()
  await second
    .getByRole('dialog')
    .getByRole('button', { name: /bulk operation/i })
    .click()
  await second.getByRole('heading', { name: /^Stopped: retried/ }).waitFor()
})
