import type { Client } from '@oncue/sdk'
import type { Page } from 'playwright-core'
import { settled } from './every-screen.ts'

/** A screen in a state that its address alone does not show. */
export interface State {
  readonly name: string
  /** Opens it, and returns when it is shown. */
  show(page: Page): Promise<void>
}

/** Screens whose first load has a shape of its own. */
const LOADING = {
  now: '/',
  failures: '/failures',
  queues: '/queues',
  jobs: '/jobs',
  alerts: '/alerts',
  activity: '/activity',
} as const

/** Keeps the API from answering, so that a first load does not end; only who is signed in is known. */
async function showLoading(page: Page, path: string): Promise<void> {
  await page.route('**/trpc/**', async (route) => {
    if (route.request().url().includes('tokens.me')) await route.continue()
  })
  await page.goto(path)
  await page.getByLabel('Loading').first().waitFor()
}

async function pressOnFailure(page: Page, client: Client, button: RegExp, sheet: RegExp): Promise<void> {
  const groups = await client.jobs.failures({ sort: 'largest' })
  const group = groups.find(({ retrying }) => retrying > 0)
  if (!group) throw new Error('No job is retrying: there is nothing to run now')
  await page.goto(`/failures/${group.fingerprint}`)
  await settled(page)
  const act = page.getByRole('button', { name: button })
  const more = page.getByRole('button', { name: 'More', exact: true }).last()
  await act.or(more).first().waitFor()
  if ((await act.count()) === 0) await more.click()
  await act.click()
  await page.getByRole('dialog').getByRole('button', { name: sheet }).waitFor()
}

/** Each shows what it is named after, or throws. */
export function everyState(client: Client): readonly State[] {
  return [
    ...Object.entries(LOADING).map(([name, path]) => ({
      name: `${name}-loading`,
      show: (page: Page) => showLoading(page, path),
    })),
    {
      name: 'failure-run-now',
      show: (page) => pressOnFailure(page, client, /^Run .*now$/, /^(Hold to r|R)un/),
    },
    {
      name: 'signal',
      async show(page) {
        const [question] = await client.jobs.questions()
        await page.goto(`/jobs/${question?.id}`)
        await settled(page)
        await page.getByRole('button', { name: 'More', exact: true }).last().click()
        await page.getByRole('dialog').getByRole('button', { name: 'Send a signal' }).click()
        await page.getByRole('button', { name: 'bank', exact: true }).click()
        await page.getByRole('dialog').getByLabel('reference').waitFor()
      },
    },
    {
      name: 'operation-stop',
      async show(page) {
        const { items } = await client.bulkOperations.list({ limit: 10 })
        const running = items.find(({ status }) => status === 'running')
        if (!running) throw new Error('No bulk operation is running: there is nothing to stop')
        await page.goto(`/bulk-operations/${running.id}`)
        await settled(page)
        await page.getByRole('toolbar').getByRole('button', { name: 'Stop', exact: true }).waitFor()
      },
    },
    {
      name: 'activity-entry',
      async show(page) {
        await page.goto('/activity')
        await settled(page)
        await page
          .getByRole('link', { name: /started retrying/ })
          .first()
          .click()
        await page.getByRole('dialog').getByText('Action', { exact: true }).waitFor()
      },
    },
  ]
}
