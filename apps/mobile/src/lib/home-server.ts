import type { Server } from './servers.ts'

/** The server that served this page; an app from a store comes from none. */
export const HOME_SERVER: Server | null = null
