import { afterAll, beforeAll, expect, it } from 'vitest'
import { closeBrowser, DESKTOP, enter, expectLocked, hold, openWorld } from './harness.ts'
import { startWorld, type World } from './world.ts'

const NIGHTLY = { name: 'nightly', cron: '0 3 * * *', timezone: 'Europe/Oslo', topic: 'close_books' }

let world: World
beforeAll(async () => {
  world = await startWorld()
  await world.client.schedules.save({ ...NIGHTLY, payload: { year: 2026 } })
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

const isPaused = async () => (await world.client.schedules.list()).every(({ paused }) => paused !== null)

it('a schedule is paused and resumed at once, and both can be undone', async () => {
  const { page } = await enter(world, '/schedules')
  const press = async (name: string) => {
    await page.getByRole('link', { name: /^nightly, / }).click()
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
  }
  const undo = () => page.getByRole('button', { name: 'Undo' }).click()

  await press('Pause')
  await page.getByText('“nightly” paused', { exact: true }).waitFor()
  await page.getByRole('link', { name: /^nightly, .*, paused/ }).waitFor()
  expect(await isPaused()).toBe(true)
  await undo()
  await page.getByRole('link', { name: /^nightly, .*, next in / }).waitFor()
  expect(await isPaused()).toBe(false)

  await press('Pause')
  await page.getByRole('link', { name: /^nightly, .*, paused/ }).waitFor()
  await press('Resume')
  await page.getByText('“nightly” resumed', { exact: true }).waitFor()
  await page.getByRole('link', { name: /^nightly, .*, next in / }).waitFor()
  expect(await isPaused()).toBe(false)
  await undo()
  await page.getByRole('link', { name: /^nightly, .*, paused/ }).waitFor()
  expect(await isPaused()).toBe(true)
})

it('run now asks first, and leads to the job', async () => {
  const { page } = await enter(world, '/schedules', { viewport: DESKTOP })
  await page.getByRole('link', { name: /^nightly, / }).click()
  await page.getByRole('button', { name: 'Run now…' }).click()
  await page.getByRole('heading', { name: 'Run “nightly” now?' }).waitFor()
  expect((await world.client.jobs.list({ topic: 'close_books' })).items).toEqual([])
  await page.getByRole('button', { name: 'Run it now' }).click()
  await page.getByRole('heading', { name: 'close_books', level: 1 }).waitFor()
  const { items } = await world.client.jobs.list({ topic: 'close_books' })
  expect(items.map(({ id }) => `/jobs/${id}`)).toEqual([new URL(page.url()).pathname])
})

it('in production, run now has to be held', async () => {
  const production = await openWorld({ ONCUE_ENVIRONMENT: 'production' })
  await production.client.schedules.save(NIGHTLY)
  const { page } = await enter(production, '/schedules')
  await page.getByRole('link', { name: /^nightly, / }).click()
  await page.getByRole('button', { name: 'Run now…' }).click()
  await hold(page, 'Hold to run it now')
  await page.getByRole('heading', { name: 'close_books', level: 1 }).waitFor()
})

it('a viewer reads everything, and sees why actions are locked', async () => {
  const { page } = await enter(world, '/schedules', { token: await world.tokenOf('viewer') })
  await page.getByRole('link', { name: /^nightly, / }).click()
  await page.getByText('0 3 * * *', { exact: true }).waitFor()
  const pausedBefore = await isPaused()
  for (const name of [pausedBefore ? 'Resume' : 'Pause', 'Run now…'])
    await expectLocked(page, name, 'You are a viewer. Operators and admins can do this.')
  expect(await isPaused()).toBe(pausedBefore)
})
