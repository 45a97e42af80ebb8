import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ROOT } from '../start/root.ts'

/** Limit of what an app loads, without zod, compressed. Raise it only on purpose. */
export const MAX_SDK_BYTES = 50_000

/** The built SDK, with every file that it imports. */
export async function sdkBytes(): Promise<number> {
  const files = new Map<string, Buffer>()
  const add = async (path: string): Promise<void> => {
    if (files.has(path)) return
    const code = await readFile(path)
    files.set(path, code)
    for (const [, name = ''] of code.toString().matchAll(/ from "(\.\/[^"]+)"/g))
      await add(join(dirname(path), name))
  }
  await add(join(ROOT, 'packages/sdk/dist/index.js'))
  return gzipSync(Buffer.concat([...files.values()])).byteLength
}
