import { afterAll, describe, expect, it } from 'vitest'
import { closeBrowser, DESKTOP, enter, expectLocked, openWorld } from './harness.ts'
import { refunds } from './refunds.ts'

afterAll(closeBrowser)

const REFUND = { order: 'A-17', cents: 4_200 }
const QUESTION = 'Refund 42.00 € for order A-17?'

describe.each(['sqlite', 'postgres'] as const)('durable jobs on %s', (dialect) => {
  it('an approval on the phone: the question is found in two taps, and the answer lets the job go on', async () => {
    const world = await openWorld({}, dialect)
    await world.work(refunds)
    const { page, expectTrouble } = await enter(world, '/')
    const id = await world.client.jobs.enqueue('refund', REFUND)

    await page.getByRole('button', { name: /^1.question$/ }).waitFor()
    await page.getByRole('link', { name: 'More, 1 open question' }).click()
    await page.getByRole('link', { name: 'Questions, 1 open' }).click()
    await page.waitForURL(/\/questions$/)
    await page.getByRole('link', { name: QUESTION }).click()
    const sheet = page.getByRole('dialog')
    await sheet.getByText('Pay the money back?').waitFor()

    // What the form itself knows, then what only the job knows: it asks again, and says why.
    await sheet.getByRole('button', { name: 'Answer', exact: true }).click()
    await sheet.getByText('Choose one.').waitFor()
    await sheet.getByRole('button', { name: 'No', exact: true }).click()
    await sheet.getByRole('button', { name: 'Answer', exact: true }).click()
    await sheet.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: /last answer refused/ }).click()
    await sheet.getByText(/a refusal needs a note/).waitFor()

    // Meanwhile a colleague answers.
    await world.client.jobs.answer(id, 'approve', { ok: true })
    expectTrouble(/409/)
    await sheet.getByRole('button', { name: 'Yes', exact: true }).click()
    await sheet.getByRole('button', { name: 'Answer', exact: true }).click()
    await sheet.getByText('admin has already answered this').waitFor()
    await sheet.getByRole('button', { name: 'Open the job' }).click()

    await page.getByText('Answered by admin').waitFor()
    await page.getByText('The job refused the answer by admin').waitFor()
    await page.getByText('Step “assess” finished').waitFor()
    await page
      .getByText(/^Waiting for “bank” for .*, until /)
      .first()
      .waitFor()
    await world.client.jobs.signal(id, 'bank', { reference: 'X-1', ok: true })
    await page.getByText('Signal “bank” received').waitFor()
    await page.getByText(/^Spawned 1.job$/).waitFor()
    await page.getByText('All children completed').waitFor()
    await page.getByText(/^Run \d completed$/).waitFor()
    expect((await world.client.jobs.get(id)).result).toEqual({ refunded: true, risk: 'low' })
  })

  it('a signal is sent by hand: its data are checked at their field, and the job goes on', async () => {
    const world = await openWorld({}, dialect)
    await world.work(refunds)
    const id = await world.client.jobs.enqueue('refund', REFUND)
    const { page, expectTrouble } = await enter(world, `/jobs/${id}`)
    await page.getByText(QUESTION).first().waitFor()
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Yes', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Answer', exact: true }).click()
    await page.getByText('Answered by admin').waitFor()

    await page.getByRole('button', { name: 'Signal…' }).click()
    const sheet = page.getByRole('dialog')
    await sheet.getByRole('heading', { name: 'Signal “bank”' }).waitFor()
    await sheet.getByLabel('reference').fill('X')
    await sheet.getByRole('button', { name: 'Yes', exact: true }).click()
    expectTrouble(/400/)
    await sheet.getByRole('button', { name: 'Send', exact: true }).click()
    await sheet.getByText(/signal\.reference.*3/).waitFor()
    await sheet.getByLabel('reference').fill('X-1')
    await sheet.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Signal “bank” received').waitFor()
    await page.getByText(/^Run \d completed$/).waitFor()
    expect((await world.client.jobs.get(id)).result).toMatchObject({ refunded: true })
  })
})

it('viewers read questions, and learn why they cannot answer', async () => {
  const world = await openWorld()
  await world.work(refunds)
  await world.client.jobs.enqueue('refund', REFUND)
  const token = await world.tokenOf('viewer')
  const { page } = await enter(world, '/questions', { token, viewport: DESKTOP })
  await page.getByRole('link', { name: 'Questions, 1 open question' }).waitFor()
  await page.getByRole('link', { name: QUESTION }).click()
  await page.getByText('You cannot answer').waitFor()
  await expectLocked(page, 'Answer', 'You are a viewer. Operators and admins can do this.')
})
