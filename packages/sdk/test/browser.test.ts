import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'

/** Bundles into one file for a browser, as an app would. A missing module or one of Node is an error. */
async function bundle(entry: string) {
  const refused: string[] = []
  const build = await rolldown({
    input: fileURLToPath(new URL(`../src/${entry}`, import.meta.url)),
    platform: 'browser',
    external: ['react'],
    onLog(_, log) {
      refused.push(log.message)
    },
  })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  const [{ code, imports, moduleIds }, ...others] = output
  return { code, imports, moduleIds, others, refused }
}

describe.each(['index.ts', 'react.ts', 'testing.ts'])('%s in a browser', (entry) => {
  it('needs nothing of Node, and nothing of the server', async () => {
    const { code, imports, moduleIds, others, refused } = await bundle(entry)
    expect({ imports, others, refused }).toEqual({
      imports: entry === 'react.ts' ? ['react'] : [],
      others: [],
      refused: [],
    })
    expect(code).not.toMatch(/\bnode:|\bBuffer\b|\bprocess\.|\brequire\(/)
    expect(moduleIds.filter((id) => /apps\/(api|worker)|packages\/db/.test(id))).toEqual([])
  })
})

it('is small, without zod', async () => {
  const { code } = await bundle('index.ts')
  expect(gzipSync(code).byteLength).toBeLessThan(120_000)
})
