import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Packed } from './packages.ts'

const run = promisify(execFile)

export interface PublishOptions {
  readonly isTrial: boolean
  readonly say: (line: string) => void
  /** For tests: arguments for pnpm, such as another registry. */
  readonly args?: readonly string[]
}

/**
 * Publishes tarballs in their order, so that no package can be installed before its dependencies. Versions that the
 * registry has already are skipped: after a failure the same command continues.
 */
export async function publish(packages: readonly Packed[], options: PublishOptions): Promise<void> {
  const { isTrial, say, args = [] } = options
  for (const { manifest, tarball } of packages) {
    const name = `${manifest.name}@${manifest.version}`
    if (!isTrial && manifest.version === '0.0.0')
      throw new Error(`${name} has no version yet: pnpm exec changeset version`)
    if (await isPublished(name, args)) {
      say(`${name} is published already`)
      continue
    }
    const flags = ['--access', 'public', '--no-git-checks', ...(isTrial ? ['--dry-run'] : []), ...args]
    await run('pnpm', ['publish', tarball, ...flags])
    say(`${name} ${isTrial ? 'would be' : 'is'} published`)
  }
}

async function isPublished(name: string, args: readonly string[]): Promise<boolean> {
  try {
    const { stdout } = await run('pnpm', ['view', name, 'version', ...args])
    return stdout.trim() !== ''
  } catch (error) {
    if (/E404|\b404\b|NOT_FOUND/.test(String((error as { stderr: string }).stderr))) return false
    throw error
  }
}
