import { OncueError } from '@oncue/core'
import type { OwnCode } from './own-code.ts'

/**
 * In the published package the build has put the texts into this module (scripts/release/inline-worker.ts). The sources
 * have files.
 */
export function textOf(name: OwnCode): string {
  throw new OncueError('CODE_MISSING', `There is no file of ${name}`)
}
