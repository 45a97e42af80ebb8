import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HOME } from './home.ts'

/** The versions of this repository, of the two packages that a user of the SDK has. */
export async function readCatalog(): Promise<{ zod: string; typescript: string }> {
  const text = await readFile(join(HOME, '../../pnpm-workspace.yaml'), 'utf8')
  const versionOf = (name: string) => {
    const version = new RegExp(`^  ${name}: (.*)$`, 'm').exec(text)?.[1]
    if (version === undefined) throw new Error(`${name} is not in the catalog`)
    return version
  }
  return { zod: versionOf('zod'), typescript: versionOf('typescript') }
}
