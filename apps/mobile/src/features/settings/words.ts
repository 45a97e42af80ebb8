import type { Server } from '../../lib/servers.ts'

/** Said after signing out of a server that did not answer. */
export function stillListedIn({ name }: Server): string {
  return `Signed out here. ${name} could not be told: a paired device is still listed there, until it is revoked.`
}
