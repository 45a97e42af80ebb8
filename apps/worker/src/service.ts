import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'

const RULE = '1 to 128 letters, digits and _ . - / @'

/** Names of packages are valid: @acme/billing. */
export const serviceSchema = z
  .string()
  .regex(/^[\w@./-]{1,128}$/, `must be ${RULE}`)
  .describe(RULE)

const VERSION_RULE = '1 to 64 printable characters'

/** A release of the service: a version, a tag or the hash of a commit. */
export const versionSchema = z
  .string()
  .trim()
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u, `must be ${VERSION_RULE}`)
  .describe(VERSION_RULE)

/** The name of all services without one. */
export const UNNAMED_SERVICE = 'default'

/**
 * The name in the nearest package.json, so that two services that share a database differ without configuration.
 * Without a package.json, as in a minimal image: default.
 */
export function defaultService(from = process.cwd()): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const parsed = serviceSchema.safeParse(packageName(folder))
    if (parsed.success) return parsed.data
    if (dirname(folder) === folder) return UNNAMED_SERVICE
  }
}

function packageName(folder: string): unknown {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return (manifest as { name?: unknown } | null)?.name
  } catch {
    // Missing or unreadable.
    return undefined
  }
}
