import { fileURLToPath } from 'node:url'

/** Of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
