import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { launchBrowser } from './browser.ts'
import { ADMIN_TOKEN, startWorld, type World } from './world.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Gone when the test is over, after those who visit it. */
export async function openWorld(...options: Parameters<typeof startWorld>): Promise<World> {
  const world = await startWorld(...options)
  onTestFinished(() => world.close())
  return world
}

declare module 'vitest' {
  interface ProvidedContext {
    /** A server to make databases on: see the global setup of @oncue/db/testing. */
    postgresUrl: string
  }
}

export const PHONE = { width: 390, height: 844 }
export const DESKTOP = { width: 1280, height: 800 }

/** For machines that have other things to do. */
const PATIENCE_MS = 60_000

let shared: Promise<Browser> | undefined

/** One for all tests of a file. */
function browser(): Promise<Browser> {
  shared ??= launchBrowser()
  return shared
}

export async function closeBrowser(): Promise<void> {
  await (await shared)?.close()
  shared = undefined
}

/** What a page must not do; looked at when the test is over. Some tests provoke one: they name it. */
export interface Visitor {
  readonly page: Page
  /** From here on, messages like this are expected. */
  expectTrouble(like: RegExp): void
}

/** Somebody with a browser of their own. Whatever their console complains about fails the test. */
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
  // Violations of the policy are told to the page, not always to its console.
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

/** As a person would, unless the page is open to all. */
export async function signIn(page: Page, path = '/', token = ADMIN_TOKEN): Promise<void> {
  await page.goto(path)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor({ state: 'detached' })
}

interface Entry extends BrowserContextOptions {
  readonly token?: string
}

/** Somebody who signed in before: a browser has no more of that than a cookie. */
export async function enter(world: World, path: string, options: Entry = {}): Promise<Visitor> {
  const { token = ADMIN_TOKEN, ...context } = options
  const visitor = await visit(world, context)
  const answer = await visitor.page.request.post('/api/session', { data: { token } })
  expect(answer.ok()).toBe(true)
  await visitor.page.goto(path)
  await visitor.page.getByRole('button', { name: /^Live/ }).waitFor()
  return visitor
}

/** With a finger that stays on a button of a sheet until the sheet is gone. */
export async function hold(page: Page, name: RegExp | string): Promise<void> {
  const sheet = page.getByRole('dialog')
  await sheet.getByRole('button', { name }).hover()
  await page.mouse.down()
  await sheet.waitFor({ state: 'detached' })
  await page.mouse.up()
}

/** What may not be done is there, and says why when it is pressed. */
export async function expectLocked(page: Page, name: string, reason: string): Promise<void> {
  const button = page.getByRole('button', { name, exact: true })
  expect(await button.getAttribute('aria-disabled')).toBe('true')
  // A sheet may be on its way still; for a browser what is locked cannot be clicked.
  await button.hover()
  await button.click({ force: true })
  // To be seen, and not below a sheet.
  await page.getByText(reason).last().click({ trial: true })
}

/** What axe calls serious or worse. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // As the browser's own tools do it: the page's policy would not let in a script of somebody else.
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
