import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeBrowser, DESKTOP, enter, expectLocked, hold, PHONE } from './harness.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
  await enqueue('mail', ...Array.from({ length: 120 }, (_, n) => ({ topic: 'digest', city: city(n) })))
  await enqueue('media', { topic: 'video_a' }, { topic: 'video_b' }, { topic: 'video_c' })
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

const city = (n: number) => (n % 10 === 0 ? 'Oslo' : 'Bergen')

const enqueue = (queue: string, ...jobs: { topic: string; city?: string }[]) =>
  world.client.jobs.enqueueMany(
    jobs.map(({ topic, ...payload }) => ({ ...{ topic, queue, payload, maxRetries: 0 } })),
  )

describe('the filter of jobs', () => {
  it('is set by chips and payload text, and kept in the address', async () => {
    const { page } = await enter(world, '/jobs')
    const shown = (text: string) => page.getByRole('status').getByText(text).waitFor()
    await shown('123 jobs, newest first')
    await page.getByRole('button', { name: 'Waiting', exact: true }).click()
    await page.getByRole('button', { name: 'Queue', exact: true }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'mail' }).click()
    await shown('120 jobs, newest first')

    await page.getByLabel('Search jobs').fill('Oslo')
    await page.keyboard.press('Enter')
    await shown('12 jobs, newest first')
    await page.reload()
    await shown('12 jobs, newest first')
    expect(paramsOf(page.url())).toMatchObject({ status: 'waiting', queue: 'mail', q: 'Oslo' })
    await page.getByRole('button', { name: 'payload contains “Oslo” (last 24 hours): 12' }).waitFor()

    await page.getByLabel('Search jobs').fill('')
    await page.keyboard.press('Enter')
    await shown('120 jobs, newest first')
    await page.getByLabel('Search jobs').fill('Trondheim')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Clear search' }).click()
    await shown('120 jobs, newest first')
    expect(paramsOf(page.url())).toEqual({ status: 'waiting', queue: 'mail' })
  })
})

describe('selecting', () => {
  it('begins with a long press, keeps rows in place, and says how many jobs are new', async () => {
    const { page } = await enter(world, '/jobs?queue=media')
    // Skips the time until the list is refreshed.
    await page.clock.install()
    await page.reload()
    await page.getByRole('link', { name: /^video_c in media/ }).hover()
    await page.mouse.down()
    await page.getByText('1 job selected').waitFor()
    await page.mouse.up()
    await page.getByRole('checkbox', { name: /^video_a in media/ }).click()
    await page.getByText('2 jobs selected').waitFor()

    await enqueue('media', { topic: 'video_d' }, { topic: 'video_e' })
    await page.clock.fastForward(11_000)
    await page.getByRole('button', { name: '2 new – tap to show' }).waitFor()
    const topics = async () =>
      (await page.getByRole('checkbox').allTextContents()).map((text) => text.split(' ')[0])
    expect(await topics()).toEqual(['video_c', 'video_b', 'video_a'])

    await page.getByRole('button', { name: '2 new – tap to show' }).click()
    await page.getByRole('checkbox', { name: /^video_e in media/ }).waitFor()
    expect(await topics()).toEqual(['video_e', 'video_d', 'video_c', 'video_b', 'video_a'])
    const checked = page.getByRole('checkbox', { checked: true })
    await expect.poll(() => checked.count()).toBe(2)
    await page.getByRole('button', { name: 'Stop selecting' }).click()
    await page.getByRole('link', { name: /^video_e in media/ }).waitFor()
  })

  it('works by keyboard: x selects, r opens the confirmation, and the filter is kept', async () => {
    let isBroken = true
    await world.work({
      async charge() {
        if (isBroken) throw new Error('no answer')
      },
    })
    await enqueue('high', { topic: 'charge' }, { topic: 'charge' }, { topic: 'charge' })
    await expect.poll(async () => (await world.client.jobs.stats({ queue: 'high' })).failed).toBe(3)
    isBroken = false

    const { page } = await enter(world, '/jobs?queue=high&status=failed', { viewport: DESKTOP })
    await page
      .getByRole('link', { name: /^charge in high, Failed/ })
      .first()
      .waitFor()
    for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key)
    await page.getByText('2 jobs selected').waitFor()
    await page.keyboard.press('r')
    const sheet = page.getByRole('dialog')
    await sheet.getByRole('heading', { name: 'Retry 2 jobs?' }).waitFor()
    await sheet.getByText('charge in high').waitFor()
    await sheet.getByRole('button', { name: /^Retry 2.jobs$/ }).click()
    await page.getByText('Retried 2', { exact: true }).waitFor()
    await page.getByRole('status').getByText('1 job, newest first').waitFor()
    expect(paramsOf(page.url())).toEqual({ queue: 'high', status: 'failed' })
    await expect.poll(async () => (await world.client.jobs.stats({ queue: 'high' })).completed).toBe(2)
  })

  it('works for a viewer, who sees why actions are locked', async () => {
    const { page } = await enter(world, '/jobs?queue=media', { token: await world.tokenOf('viewer') })
    await page.getByRole('button', { name: 'Select', exact: true }).click()
    await page.getByRole('checkbox', { name: /^video_a in media/ }).click()
    for (const name of ['Retry', 'Cancel', 'Delete'])
      await expectLocked(page, name, 'You are a viewer. Operators and admins can do this.')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})

describe('all matching jobs', () => {
  it.each([
    ['a phone', PHONE, 'Oslo', 12],
    ['a desk', DESKTOP, 'Bergen', 108],
  ])('are cancelled by the server, as of the preview, on %s', async (_, viewport, text, many) => {
    const { page } = await enter(world, `/jobs?queue=mail&status=pending&${sinceYesterday(text)}`, {
      viewport,
    })
    await page.getByRole('button', { name: 'Select', exact: true }).click()
    await page.getByRole('button', { name: `Select all ${many} that match` }).click()
    await page.getByText(`All ${many} that match`).waitFor()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()

    const sheet = page.getByRole('dialog')
    await sheet.getByRole('heading', { name: `Cancel ${many} jobs?` }).waitFor()
    await sheet.getByText('waiting jobs in “mail”').waitFor()
    // It matches as well, but was enqueued after the preview.
    await enqueue('mail', { topic: 'digest', city: text })
    if (many < 100) await sheet.getByRole('button', { name: /^Cancel 12.jobs$/ }).click()
    else await hold(page, /^Hold to cancel 108.jobs$/)

    await page.getByRole('heading', { name: `Cancelled ${many}`, exact: true }).waitFor()
    await page.getByRole('progressbar', { name: '100% done' }).waitFor()
    await page.goBack()
    await page.getByRole('status').getByText('1 job, newest first').waitFor()
    expect(paramsOf(page.url())).toMatchObject({ queue: 'mail', status: 'pending', payloadText: text })
    await page.getByRole('button', { name: 'Select', exact: true }).waitFor()
  })

  it('cannot be selected without a filter', async () => {
    const { page } = await enter(world, '/jobs')
    await page.getByRole('button', { name: 'Select', exact: true }).click()
    await page.getByRole('button', { name: /^Select all \d+: needs a filter$/ }).click({ force: true })
    await page.getByText('Choose a filter first. Without one, this would affect every job.').waitFor()
    await page.getByText('0 jobs selected').waitFor()
  })
})

const paramsOf = (url: string) => Object.fromEntries(new URL(url).searchParams)

function sinceYesterday(payloadText: string): URLSearchParams {
  return new URLSearchParams({ payloadText, createdFrom: new Date(Date.now() - 86_400_000).toISOString() })
}
