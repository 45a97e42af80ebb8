import type { CDPSession, Page } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { closeBrowser, enter, openWorld, visit } from './harness.ts'
import type { World } from './world.ts'

afterAll(closeBrowser)

/** Waits until the service worker has cached the page and its files. */
async function installed(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready
  })
  await expect
    .poll(() => page.evaluate(async () => (await (await caches.open('oncue-shell')).keys()).length))
    .toBeGreaterThan(1)
}

it('can be installed: it has a manifest with icons, and a service worker that is never cached', async () => {
  const world = await openWorld()
  const get = (path: string) => fetch(world.url + path)
  const page = await (await get('/')).text()
  expect(page).toContain('<link rel="manifest" href="/manifest.webmanifest"')
  // Logo and colours are shown before any script runs.
  expect(page).toMatch(/prefers-color-scheme: dark[\s\S]*#121115/)
  expect(page).toContain('class="first-view"')
  const manifest = await get('/manifest.webmanifest')
  expect(manifest.headers.get('content-type')).toContain('application/manifest+json')
  const { icons } = (await manifest.json()) as { icons: { src: string }[] }
  for (const { src } of icons) expect((await get(src)).headers.get('content-type'), src).toBe('image/png')
  const worker = await get('/sw.js')
  expect(worker.headers.get('content-type')).toContain('javascript')
  expect(worker.headers.get('cache-control')).toBe('no-cache')
})

it('opens without a network, says so, and caches no data of the server', async () => {
  const world = await openWorld()
  const { page, expectTrouble } = await enter(world, '/')
  await installed(page)
  expectTrouble(/ERR_INTERNET_DISCONNECTED|Failed to fetch|ERR_FAILED|503/)
  await page.context().setOffline(true)
  await page.goto('/alerts')
  await page
    .getByText(/not responding|offline/i)
    .first()
    .waitFor()
  const kept = await page.evaluate(async () =>
    (await (await caches.open('oncue-shell')).keys()).map(({ url }) => new URL(url).pathname),
  )
  expect(kept).toContain('/')
  expect(kept.filter((path) => /^\/(trpc|api)/.test(path))).toEqual([])

  await page.context().setOffline(false)
  await page.goto('/alerts')
  await page.getByRole('button', { name: /^Live/ }).waitFor()
})

it('shows a pushed alert, and acknowledges it from the notification', async () => {
  const world = await openWorld()
  const { alertId, shown, press } = await receiveAlert(world)
  await press('ack')
  await expect.poll(async () => (await world.client.alerts.get({ id: alertId })).state).toBe('acked')
  await expect
    .poll(shown)
    .toMatchObject([{ title: 'Firing · test' }, { title: 'Acknowledged', tag: 'group' }])
})

it.each([
  ['its button Open', 'open'],
  ['the notification itself', ''],
])('%s leads the open tab to the alert', async (_, action) => {
  const world = await openWorld()
  const { page, alertId, press } = await receiveAlert(world)
  expect(await press(action)).toEqual({ focused: [`${world.url}/`], opened: [] })
  await page.waitForURL(`${world.url}/alerts/${alertId}`)
  await page.getByText('mail must run').first().waitFor()
})

it('opens the alert in a new tab when none is open, and when the open one was loaded past the service worker', async () => {
  const world = await openWorld()
  const { page, session, alertId, press } = await receiveAlert(world)
  const opened = { focused: [], opened: [`/alerts/${alertId}`] }
  // As Shift and the button of the browser do.
  await session.send('Page.reload', { ignoreCache: true })
  await page.waitForFunction(() => navigator.serviceWorker.controller === null)
  expect(await press('')).toEqual(opened)

  await page.goto('about:blank')
  expect(await press('open')).toEqual(opened)
})

/** A browser with the app open, to which an alert was pushed. */
async function receiveAlert(world: World) {
  const rule = { name: 'mail must run', kind: 'paused', queue: 'mail', threshold: 0, forSeconds: 0 } as const
  await world.client.alerts.createRule(rule)
  await world.client.queues.pause({ queue: 'mail' })
  const fired = async () => (await world.client.alerts.list({ state: 'open' })).items[0]?.id ?? ''
  await expect.poll(fired).not.toBe('')
  const alertId = await fired()
  const { page } = await enter(world, '/')
  await installed(page)
  const [worker] = page.context().serviceWorkers()
  if (!worker) throw new Error('there is no service worker')
  // A headless browser shows no notifications, so they are recorded instead.
  await worker.evaluate(() => {
    const { registration } = globalThis as unknown as Scope
    const shown: Shown[] = []
    Object.assign(globalThis, { shown })
    registration.showNotification = async (title, options) => void shown.push({ ...options, title })
  })
  const session = await page.context().newCDPSession(page)
  const registrationId = await registrationOf(session)
  const message = {
    ...{ type: 'alert.firing', title: 'Firing · test', body: 'mail is late', path: `/alerts/${alertId}` },
    ...{ tag: 'group', alertIds: [alertId] },
  }
  const pushed = { origin: world.url, registrationId, data: JSON.stringify(message) }
  await session.send('ServiceWorker.deliverPushMessage', pushed)
  const shown = () => worker.evaluate(() => (globalThis as unknown as Scope).shown)
  await expect.poll(shown).toMatchObject([
    {
      ...{ title: 'Firing · test', body: 'mail is late', tag: 'group' },
      actions: [{ action: 'open' }, { action: 'ack' }],
    },
  ])

  /**
   * As the system does when a button of the notification, or the notification itself, is pressed. A browser focuses and
   * opens tabs only after a real press, so these calls are recorded.
   */
  const press = (action: string) =>
    worker.evaluate(async (action) => {
      const scope = globalThis as unknown as Scope
      const calls = { focused: [] as string[], opened: [] as string[] }
      scope.WindowClient.prototype.focus = async function () {
        calls.focused.push(this.url)
        return this
      }
      scope.clients.openWindow = async (path) => void calls.opened.push(path)
      const [notification] = scope.shown
      let work: Promise<unknown> = Promise.resolve()
      const waitUntil = (promise: Promise<unknown>) => {
        work = promise
      }
      const pressed = { notification: { ...notification, close() {} }, action, waitUntil }
      globalThis.dispatchEvent(Object.assign(new Event('notificationclick'), pressed))
      await work
      return calls
    }, action)

  return { page, session, alertId, shown, press }
}

type Shown = NotificationOptions & { readonly title: string }

/** What the test uses of the service worker's global scope. */
interface Scope {
  readonly registration: ServiceWorkerRegistration
  readonly shown: Shown[]
  readonly clients: { openWindow(path: string): Promise<void> }
  readonly WindowClient: {
    readonly prototype: { focus(this: { readonly url: string }): Promise<unknown> }
  }
}

it('explains why this browser is not notified', async () => {
  const world = await openWorld()
  const { page } = await visit(world)
  await page.addInitScript(() => {
    Object.defineProperty(Notification, 'permission', { get: () => 'denied' })
    Notification.requestPermission = async () => 'denied'
  })
  const answer = await page.request.post('/api/session', { data: { token: await world.tokenOf('operator') } })
  expect(answer.ok()).toBe(true)
  await page.goto('/settings')
  await page.getByRole('switch', { name: 'Notify this browser' }).click()
  await page.getByText(/Notifications are blocked for this page/).waitFor()
})

function registrationOf(session: CDPSession): Promise<string> {
  return new Promise((resolve, reject) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [registration] = registrations
      if (registration) resolve(registration.registrationId)
    })
    session.send('ServiceWorker.enable').catch(reject)
  })
}
