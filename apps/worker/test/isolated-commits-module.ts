import { openService, VARIABLES } from './isolated-commits.ts'

// biome-ignore lint/style/noProcessEnv: a module of handlers, in a process that is given only these variables.
const [url = '', name = '', dialect = ''] = VARIABLES.map((variable) => process.env[variable])

export const { workers } = await openService(url, name, dialect)
