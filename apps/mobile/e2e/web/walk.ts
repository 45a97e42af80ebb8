import type { Client } from '@oncue/sdk'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { everyScreen, settled } from './every-screen.ts'
import { enlargeText } from './large-text.ts'
import { everyState } from './states.ts'
import { ADMIN_TOKEN } from './world.ts'

export const SIZES = {
  phone: { width: 390, height: 844 },
  tablet: { width: 1024, height: 768 },
  desk: { width: 1440, height: 900 },
  wide: { width: 2560, height: 1440 },
  // What is below the fold of the others.
  'long-phone': { width: 390, height: 2_600 },
  'long-desk': { width: 1440, height: 2_600 },
}
export type Size = keyof typeof SIZES

/** Pictures that are taken on the way, at another screen. */
const AT: Readonly<Record<string, string>> = { confirm: 'failure', answer: 'questions' }

/** The screen that a picture is of. */
export function screenOf(picture: string): string {
  const name = picture.replace(/-(?:phone|desk)-(?:light|dark|large-text)$/, '')
  return AT[name] ?? name
}

/** Long enough for a busy machine. */
const PATIENCE_MS = 60_000
const SCHEMES = ['light', 'dark'] as const
const MAIN = ['now', 'failures', 'failure', 'queues', 'job']

export interface Walk {
  readonly browser: Browser
  /** Where the app is served, and a client of an administrator there. */
  readonly url: string
  readonly client: Client
  readonly sizes: readonly Size[]
  isChosen(screen: string): boolean
  /** Includes the states that have no picture in `docs/screens`. */
  readonly withStates: boolean
  /** Of text of twice the size, too. */
  readonly withLargeText: boolean
  /** Where time stands still: the time of the pages. */
  readonly at?: Date
  /** Called at every stop, with the name of its picture. */
  visit(page: Page, name: string): Promise<void>
}

/** Opens every screen, in light and dark, in every size. */
export async function walkScreens(walk: Walk): Promise<void> {
  const screens = Object.entries(await everyScreen(walk.client)).filter(([name]) => walk.isChosen(name))
  for (const size of walk.sizes)
    for (const colorScheme of SCHEMES)
      await walkAll(walk, screens, `${size}-${colorScheme}`, { viewport: SIZES[size], colorScheme })
  const large = screens.filter(([name]) => MAIN.includes(name))
  if (walk.withLargeText && large.length > 0) await walkLarge(walk, large)
}

type Screens = readonly (readonly [name: string, path: string])[]

async function walkAll(
  walk: Walk,
  screens: Screens,
  suffix: string,
  context: BrowserContextOptions,
): Promise<void> {
  const page = await openPage(walk, context)
  const visit = (name: string) => walk.visit(page, `${name}-${suffix}`)
  await page.goto('/')
  await page.getByLabel('Token').waitFor()
  if (walk.isChosen('sign-in')) await visit('sign-in')
  await signIn(page)
  for (const [name, path] of screens) {
    await open(page, name, path)
    await visit(name)
    if (name === 'failure') {
      await openConfirmation(page)
      await visit('confirm')
    }
    if (name === 'questions') {
      await openAnswer(page)
      await visit('answer')
    }
  }
  const isWide = (context.viewport?.width ?? 0) >= 900
  for (const { name, show, isPictured = false, isOfDesk = false } of everyState(walk.client)) {
    if (!walk.isChosen(name) || !(isPictured || walk.withStates) || (isOfDesk && !isWide)) continue
    try {
      await show(page)
      await visit(name)
    } catch (error) {
      // The other pictures do not need this one.
      process.stderr.write(`${name}-${suffix}: ${error}\n`)
      process.exitCode = 1
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
  await page.context().close()
}

async function open(page: Page, name: string, path: string): Promise<void> {
  await page.goto(path)
  await settled(page)
  // Until then it says that it searches.
  if (name === 'nothing-found') await page.getByText('Nothing found', { exact: true }).waitFor()
  // Charts are loaded later. A phone has none on its first screen.
  const isWide = (page.viewportSize()?.width ?? 0) >= 900
  if (name === 'queue' || name === 'failure' || (name === 'now' && isWide))
    await page.getByRole('slider').first().waitFor()
}

async function openConfirmation(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Retry these \d/ }).click()
  await page.getByRole('button', { name: /^Hold to retry/ }).waitFor()
}

async function openAnswer(page: Page): Promise<void> {
  await page.getByRole('link', { name: /^Refund/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Yes', exact: true }).click()
}

async function walkLarge(walk: Walk, screens: Screens): Promise<void> {
  const page = await openPage(walk, { viewport: SIZES.phone })
  await enlargeText(page)
  await page.goto('/')
  await signIn(page)
  for (const [name, path] of screens) {
    await open(page, name, path)
    await walk.visit(page, `${name}-phone-large-text`)
  }
  await page.context().close()
}

async function openPage({ browser, url, at }: Walk, options: BrowserContextOptions): Promise<Page> {
  // A service worker would answer requests that a state holds back.
  const calm = { reducedMotion: 'reduce', serviceWorkers: 'block' } as const
  const context = await browser.newContext({ baseURL: url, ...calm, ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  if (at) await context.clock.setFixedTime(at)
  return context.newPage()
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await settled(page)
}
