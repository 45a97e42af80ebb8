import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The program behind `prisma …`. */
export const prismaCli = fileURLToPath(import.meta.resolve('prisma/build/index.js'))

/**
 * The environment of every `prisma` command that we run.
 *
 * The CLI downloads a schema engine before any command, even those that never use it, and fails
 * where only the npm registry can be reached. Naming an existing file as the engine stops that:
 * `generate` never opens it, and `migrate …` gets our stand-in.
 */
export function prismaEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PRISMA_SCHEMA_ENGINE_BINARY: fileURLToPath(new URL('./schema-engine.ts', import.meta.url)),
    // The stand-in is TypeScript: the Node that runs it has to be this one.
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    CHECKPOINT_DISABLE: '1',
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
  }
}
