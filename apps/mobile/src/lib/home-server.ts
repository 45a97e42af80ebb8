import type { Server } from './servers.ts'

/** The server that served this page. Null in a native app. */
export const HOME_SERVER: Server | null = null
