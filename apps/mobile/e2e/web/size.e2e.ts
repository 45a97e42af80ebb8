import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { APP } from './world.ts'

const MAX_KB = 450

it(`the first view loads at most ${MAX_KB} KB of scripts, all named by the page itself`, async () => {
  const page = await readFile(join(APP, 'index.html'), 'utf8')
  const scripts = [...page.matchAll(/<script src="\/([^"]+)"/g)].map(([, path = '']) => path)
  const sizes = await Promise.all(
    scripts.map(async (path) => gzipSync(await readFile(join(APP, path))).length),
  )
  expect(scripts.length).toBeGreaterThan(0)
  expect(sizes.reduce((sum, size) => sum + size, 0) / 1_000).toBeLessThanOrEqual(MAX_KB)
})
