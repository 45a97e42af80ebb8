import type { Client } from '@oncue/sdk'
import type { Page } from 'playwright-core'
import { settled } from './every-screen.ts'

/** A screen in a state that its address alone does not show. */
export interface State {
  readonly name: string
  /** Among the pictures of `docs/screens`. */
  readonly isPictured?: boolean
  /** Phones do not have it. */
  readonly isOfDesk?: boolean
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
  const group = groups.find(({ retrying, queues }) => retrying > 0 && !queues.includes('oncue'))
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

/** The page of the newest job of a topic, from the heading of one of its sections on. */
async function openJob(page: Page, client: Client, topic: string, section?: string): Promise<void> {
  const [job] = (await client.jobs.list({ topic, limit: 1 })).items
  if (!job) throw new Error(`There is no job of ${topic}`)
  await page.goto(`/jobs/${job.id}`)
  await settled(page)
  if (section === undefined) return
  const heading = page.getByRole('heading', { name: section, exact: true })
  await heading.waitFor()
  await heading.evaluate((element) => {
    // Only what scrolls: `scrollIntoView` moves what surrounds it too.
    const isScroller = (each: Element) => /auto|scroll/.test(getComputedStyle(each).overflowY)
    let scroller = element.parentElement
    while (scroller && !isScroller(scroller)) scroller = scroller.parentElement
    const above = element.getBoundingClientRect().top - (scroller?.getBoundingClientRect().top ?? 0)
    scroller?.scrollBy(0, above - 16)
  })
}

/** Opens a page, presses, and waits for the sheet. */
async function openSheet(page: Page, path: string, button: string | RegExp, role: Pressed = 'button') {
  await page.goto(path)
  await settled(page)
  const act = page.getByRole(role, { name: button }).first()
  const more = page.getByRole('button', { name: 'More', exact: true }).last()
  await act.or(more).first().waitFor()
  if ((await act.count()) === 0) await more.click()
  await act.click()
  await page.getByRole('dialog').waitFor()
}

type Pressed = 'button' | 'link'

/** Sheets that one press on a page opens. */
const SHEETS: Readonly<Record<string, readonly [path: string, button: string | RegExp, role?: Pressed]>> = {
  'incident-summary': ['/', 'Summary'],
  enqueue: ['/topics/plan_trip', 'Enqueue…'],
  'new-rule': ['/alerts?view=rules', 'Add a rule'],
  rule: ['/alerts?view=rules', /Jobs wait too long/, 'link'],
  'new-channel': ['/alerts?view=channels', 'Add a channel'],
  channel: ['/alerts?view=channels', /pager/, 'link'],
  'new-schedule': ['/schedules', 'New schedule'],
  schedule: ['/schedules', /sync_exchange_rates/, 'link'],
  'new-token': ['/tokens', 'New token'],
  token: ['/tokens', /^admin, /, 'link'],
  'pair-device': ['/settings', 'Pair a device'],
  device: ['/settings', /The on-call phone/, 'link'],
  limits: ['/queues/media', 'Change'],
  'pause-for': ['/queues/media', 'Pause for…'],
}

/** Each shows what it is named after, or throws. */
export function everyState(client: Client): readonly State[] {
  return [
    ...Object.entries(LOADING).map(([name, path]) => ({
      name: `${name}-loading`,
      show: (page: Page) => showLoading(page, path),
    })),
    ...Object.entries(SHEETS).map(([name, [path, button, role]]) => ({
      name,
      show: (page: Page) => openSheet(page, path, button, role),
    })),
    {
      name: 'undone-job',
      isPictured: true,
      show: (page) => openJob(page, client, 'book_trip', 'Timeline'),
    },
    { name: 'undoing-job', show: (page) => openJob(page, client, 'cancel_trip') },
    { name: 'undoing-job-timeline', show: (page) => openJob(page, client, 'cancel_trip', 'Timeline') },
    {
      name: 'family',
      isPictured: true,
      show: (page) => openJob(page, client, 'reindex_category', 'Family'),
    },
    {
      name: 'rerun',
      isPictured: true,
      async show(page) {
        await openJob(page, client, 'plan_trip', 'Timeline')
        await page.getByRole('button', { name: 'Rerun from this step' }).nth(2).click()
        await page.getByRole('dialog').waitFor()
      },
    },
    {
      name: 'edit-payload',
      async show(page) {
        await openJob(page, client, 'book_trip')
        await page.getByRole('button', { name: 'More', exact: true }).last().click()
        await page.getByRole('button', { name: 'Edit payload and retry' }).click()
        await page.getByRole('dialog').getByLabel('Payload').waitFor()
      },
    },
    {
      name: 'palette',
      isPictured: true,
      isOfDesk: true,
      async show(page) {
        await page.goto('/')
        await settled(page)
        await page.keyboard.press('ControlOrMeta+k')
        await page.getByRole('combobox').fill('pay')
        await page.getByRole('option').first().waitFor()
      },
    },
    {
      name: 'keys',
      isOfDesk: true,
      async show(page) {
        await page.goto('/')
        await settled(page)
        await page.keyboard.press('?')
        await page.getByRole('dialog').waitFor()
      },
    },
    {
      name: 'selected-jobs',
      async show(page) {
        await page.goto('/jobs?status=failed')
        await settled(page)
        await page.getByRole('button', { name: 'Select', exact: true }).click()
        await page.getByRole('checkbox').first().click()
        await page.getByRole('checkbox', { checked: true }).waitFor()
      },
    },
    {
      name: 'suspended-jobs',
      async show(page) {
        await page.goto('/jobs?status=suspended')
        await settled(page)
      },
    },
    {
      name: 'retrying-jobs',
      async show(page) {
        await page.goto('/jobs?status=retrying')
        await settled(page)
      },
    },
    {
      name: 'not-found',
      async show(page) {
        await page.goto('/no/such/page')
        await settled(page)
      },
    },
    {
      name: 'no-such-job',
      async show(page) {
        await page.goto('/jobs/01990000-0000-7000-8000-000000000000')
        await settled(page)
      },
    },
    {
      name: 'pair',
      async show(page) {
        await page.goto('/pair')
        await page.getByLabel('Pairing code').waitFor()
      },
    },
    {
      name: 'failure-run-now',
      show: (page) => pressOnFailure(page, client, /^Run .*now$/, /^(Hold to r|R)un/),
    },
    {
      name: 'signal',
      isPictured: true,
      async show(page) {
        await openJob(page, client, 'refund')
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
