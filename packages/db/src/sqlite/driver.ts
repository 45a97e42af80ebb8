import { OncueError } from '@oncue/core'
import type Database from 'better-sqlite3'

export type Driver = typeof Database

/** The Node-API version that the prebuilt better-sqlite3 is linked against. */
const REQUIRED_NODE_API = 10

/**
 * Imports better-sqlite3 when somebody really opens a file, so that Postgres users never load it.
 * On a Node that is too old the import would end the process with a segmentation fault and not a word.
 */
export async function loadDriver(nodeApi = process.versions.napi): Promise<Driver> {
  if (Number(nodeApi) < REQUIRED_NODE_API) {
    throw new OncueError(
      'UNSUPPORTED_NODE',
      `SQLite needs Node.js 22.14 or newer; this is ${process.version}`,
      {
        hint: 'Upgrade Node.js.',
      },
    )
  }
  return (await import('better-sqlite3')).default
}
