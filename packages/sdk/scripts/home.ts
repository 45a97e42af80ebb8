import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** packages/sdk */
export const HOME = fileURLToPath(new URL('..', import.meta.url))
export const ROOT = join(HOME, '../..')
