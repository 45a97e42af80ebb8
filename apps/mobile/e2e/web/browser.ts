import chromium from '@sparticuz/chromium'
import { type Browser, chromium as browsers } from 'playwright-core'

/** A Chromium that comes from npm. Elsewhere than on Linux an installed Chrome serves. */
export async function launchBrowser(): Promise<Browser> {
  if (process.platform !== 'linux') return browsers.launch({ channel: 'chrome' })
  return browsers.launch({ executablePath: await chromium.executablePath(), args: ['--no-sandbox'] })
}
