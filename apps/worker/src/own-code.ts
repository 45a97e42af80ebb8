import { existsSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { VERSION } from './version.ts'

/** Code of this package that runs in a thread or process of its own. */
export type OwnCode = 'lease/thread' | 'isolate/child' | 'isolate/watch-parent' | 'dry-run/child'

const PACKAGE = '@oncue/worker'

/** Its file, or its text where there is no file, as in a bundle. */
export async function ownCode(name: OwnCode): Promise<URL | string> {
  return ownFile(name) ?? ownText(name)
}

/** Loaded only where it is needed. */
export async function ownText(name: OwnCode): Promise<string> {
  const { textOf } = await import('./inlined-code.ts')
  return textOf(name)
}

/**
 * Its file, if this module is a file of the package. A bundle may have a file of the same name beside it, which is
 * another program.
 */
export function ownFile(name: OwnCode): URL | undefined {
  // Bundles in CommonJS have none, and those of webpack that of the machine on which they were built: if the path exists here,
  // too, it may be of another version.
  const here: string | undefined = import.meta.url
  if (here === undefined || !URL.canParse(here)) return undefined
  // The extension of this file: the code runs from the sources and from the build alike.
  const file = new URL(`${name}${extname(here)}`, here)
  return isOwn(here) && existsSync(file) ? file : undefined
}

function isOwn(here: string): boolean {
  try {
    const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', here), 'utf8'))
    const { name, version } = manifest as { name?: unknown; version?: unknown }
    return name === PACKAGE && version === VERSION
  } catch {
    return false
  }
}
