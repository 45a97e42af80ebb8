import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { chromium as browsers } from 'playwright-core'

/** Draws the icons of the app from the mark. Run after the mark has changed: `node scripts/draw-assets.mts`. */
const ASSETS = join(import.meta.dirname, '../assets')
/** Served as they are, beside the web build. */
const PUBLIC = '../public'
const PAPER = '#f3f1f5'
const INK = '#17151c'
const CUE = '#a99dff'

interface Look {
  readonly share: number
  readonly ink: string
  readonly ground: string
  readonly cue?: string
}

/** The mark of components/ui/mark.tsx, `share` of the square large. */
function draw({ share, ink, ground, cue = CUE }: Look): string {
  const [shift, scale] = [16 - 16 * share, share]
  return `<svg xmlns="http://www.w3.org/2000/svg" width="100%" height="100%" viewBox="0 0 32 32">
    <rect width="32" height="32" fill="${ground}"/>
    <g transform="translate(${shift} ${shift}) scale(${scale})">
      <path d="M18.6 5.3A11 11 0 1 0 26.7 13.4" fill="none" stroke="${ink}" stroke-width="4" stroke-linecap="round"/>
      <circle cx="24.6" cy="7.4" r="3.6" fill="${cue}"/>
    </g>
  </svg>`
}

const FILES = {
  'icon.png': { size: 1024, svg: draw({ share: 0.62, ink: PAPER, ground: INK }) },
  // Android cuts its own shape out of this: the mark stays within the middle two thirds.
  'icon-foreground.png': { size: 1024, svg: draw({ share: 0.44, ink: PAPER, ground: 'none' }) },
  // Android takes the shape alone, and colours it.
  'notification.png': { size: 96, svg: draw({ share: 0.9, ink: '#ffffff', ground: 'none', cue: '#ffffff' }) },
  'splash.png': { size: 512, svg: draw({ share: 0.9, ink: '#77727f', ground: 'none' }) },
  // Of the installed web app; the second is cut to a circle or a square, as the system likes it.
  [`${PUBLIC}/icon-192.png`]: { size: 192, svg: draw({ share: 0.62, ink: PAPER, ground: INK }) },
  [`${PUBLIC}/icon-512.png`]: { size: 512, svg: draw({ share: 0.62, ink: PAPER, ground: INK }) },
  [`${PUBLIC}/icon-maskable.png`]: { size: 512, svg: draw({ share: 0.5, ink: PAPER, ground: INK }) },
  'favicon.png': { size: 64, svg: draw({ share: 0.78, ink: PAPER, ground: INK }) },
}

const browser = await browsers.launch({
  executablePath: await chromium.executablePath(),
  args: ['--no-sandbox'],
})
await mkdir(ASSETS, { recursive: true })
for (const [name, { size, svg }] of Object.entries(FILES)) {
  const page = await browser.newPage({ viewport: { width: size, height: size } })
  await page.setContent(`<style>body{margin:0;width:${size}px;height:${size}px}</style>${svg}`)
  await writeFile(join(ASSETS, name), await page.screenshot({ omitBackground: true }))
  await page.close()
}
await browser.close()
