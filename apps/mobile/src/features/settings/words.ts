import type { Server } from '../../lib/servers.ts'

/** Said after signing out of a server that did not answer. */
export function stillListedIn({ name }: Server): string {
  return `Signed out here. ${name} is unreachable, so a paired device stays listed there until it is revoked.`
}
