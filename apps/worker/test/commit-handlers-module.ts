import { commitWorkers, URL_VARIABLE } from './commit-handlers.ts'

// biome-ignore lint/style/noProcessEnv: a module of handlers, in a process that is given only this variable.
export const { workers } = commitWorkers(process.env[URL_VARIABLE] ?? '', { isIsolated: true })
