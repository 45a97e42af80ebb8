import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { launchBrowser } from './browser.ts'
import { ADMIN_TOKEN, startWorld, type World } from './world.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Closed after the test, after its visitors. */
export async function openWorld(...options: Parameters<typeof startWorld>): Promise<World> {
  const world = await startWorld(...options)
  onTestFinished(() => world.close())
  return world
}

declare module 'vitest' {
  interface ProvidedContext {
    /** A Postgres server for test databases: see the global setup of @oncue/db/testing. */
    postgresUrl: string
  }
}

export const PHONE = { width: 390, height: 844 }
export const DESKTOP = { width: 1280, height: 800 }

/** Long enough for a busy machine. */
const PATIENCE_MS = 60_000

let shared: Promise<Browser> | undefined

/** One browser for all tests of a file. */
function browser(): Promise<Browser> {
  shared ??= launchBrowser()
  return shared
}

export async function closeBrowser(): Promise<void> {
  await (await shared)?.close()
  shared = undefined
}

/** A page whose console errors fail the test at its end, unless the test expects them. */
export interface Visitor {
  readonly page: Page
  /** From here on, messages like this are expected. */
  expectTrouble(like: RegExp): void
}

/** A visitor with a separate browser profile. Any console error or warning fails the test. */
export async function visit(world: World, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await (await browser()).newContext({ baseURL: world.url, viewport: PHONE, ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const complaints: string[] = []
  const expected: RegExp[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  // CSP violations are reported to the page, but not always to its console.
  await page.exposeFunction('tellViolation', (what: string) => complaints.push(`CSP: ${what}`))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      const told = globalThis as unknown as { tellViolation: (what: string) => void }
      told.tellViolation(`${violatedDirective} ${blockedURI}`)
    })
  })
  onTestFinished(async () => {
    await context.close()
    expect(complaints.filter((text) => !expected.some((like) => like.test(text)))).toEqual([])
  })
  return { page, expectTrouble: (like) => void expected.push(like) }
}

/** Signs in through the form. */
export async function signIn(page: Page, path = '/', token = ADMIN_TOKEN): Promise<void> {
  await page.goto(path)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor({ state: 'detached' })
}

interface Entry extends BrowserContextOptions {
  readonly token?: string
}

/** A visitor who is already signed in, which for a browser means that it has the cookie. */
export async function enter(world: World, path: string, options: Entry = {}): Promise<Visitor> {
  const { token = ADMIN_TOKEN, ...context } = options
  const visitor = await visit(world, context)
  const answer = await visitor.page.request.post('/api/session', { data: { token } })
  expect(answer.ok()).toBe(true)
  await visitor.page.goto(path)
  await visitor.page.getByRole('button', { name: /^Live/ }).waitFor()
  return visitor
}

/** Holds a button of a sheet until the sheet closes. */
export async function hold(page: Page, name: RegExp | string): Promise<void> {
  const sheet = page.getByRole('dialog')
  await sheet.getByRole('button', { name }).hover()
  await page.mouse.down()
  await sheet.waitFor({ state: 'detached' })
  await page.mouse.up()
}

/** A locked button is visible, and says why when it is pressed. */
export async function expectLocked(page: Page, name: string, reason: string): Promise<void> {
  const button = page.getByRole('button', { name, exact: true })
  expect(await button.getAttribute('aria-disabled')).toBe('true')
  // Hovering waits for a moving sheet. The click is forced, since Playwright refuses disabled buttons.
  await button.hover()
  await button.click({ force: true })
  // The reason is visible, and not behind a sheet.
  await page.getByText(reason).last().click({ trial: true })
}

/** What axe calls serious or worse. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Evaluated as by devtools: the page's CSP would block a foreign script.
  await page.evaluate(AXE)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run: (options: object) => Promise<AxeResults> } }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.map(({ id, impact, nodes }) => ({
      ...{ id, impact, where: nodes.map(({ html }) => html.slice(0, 160)) },
    }))
  })
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, where }) => `${id}: ${where.join(' | ')}`)
}

interface AxeResults {
  readonly violations: readonly { id: string; impact: string; nodes: readonly { html: string }[] }[]
}
