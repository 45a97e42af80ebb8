import type { Server } from './servers.ts'

/** The server that served this page, and the only one it may talk to. */
export const HOME_SERVER: Server | null = { id: 'home', url: '/', name: globalThis.location.host }
