import { BASE_PATH } from './base-path.ts'
import type { Server } from './servers.ts'

/** The server that served this page, and the only one it may talk to. */
export const HOME_SERVER: Server | null = { id: 'home', url: `${BASE_PATH}/`, name: globalThis.location.host }
