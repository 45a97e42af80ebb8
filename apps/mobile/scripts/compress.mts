import { glob, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

/** Beside each file of the web build its compressed twins, which the API sends to browsers that take them. */
const DIST = join(import.meta.dirname, '../dist')

for await (const name of glob('**/*.{html,ico,js,json,txt,webmanifest}', { cwd: DIST })) {
  const file = join(DIST, name)
  const content = await readFile(file)
  await writeFile(`${file}.br`, await promisify(brotliCompress)(content))
  await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }))
}
