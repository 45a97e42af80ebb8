import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { OncueError } from '@oncue/core'
import type Database from 'better-sqlite3'
import { DEFAULT_SCHEMA, renameTo } from '../schema.ts'

export type Driver = typeof Database

/** The Node-API version that the prebuilt better-sqlite3 is linked against. */
const REQUIRED_NODE_API = 10

/**
 * Imports better-sqlite3 when the first file is opened, so that Postgres users never load it.
 * On a Node that is too old the import would end the process with a segmentation fault and no message.
 */
export async function loadDriver(nodeApi = process.versions.napi): Promise<Driver> {
  if (Number(nodeApi) < REQUIRED_NODE_API) {
    const message = `SQLite needs Node.js 22.14 or newer; this is ${process.version}`
    throw new OncueError('UNSUPPORTED_NODE', message, { hint: 'Upgrade Node.js.' })
  }
  return (await import('better-sqlite3')).default
}

/** A driver whose connections use the tables of another schema. Every statement passes through here once. */
export function driverFor(driver: Driver, schema: string): Driver {
  if (schema === DEFAULT_SCHEMA) return driver
  const rename = renameTo(schema, 'sqlite')
  class SchemaDatabase extends driver {
    override prepare(source: string) {
      return super.prepare(rename(source)) as never
    }

    override exec(source: string) {
      return super.exec(rename(source))
    }
  }
  return SchemaDatabase as unknown as Driver
}

/** Only for the user who runs Oncue: these files hold payloads, hashes of tokens and audit entries. */
const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600

/**
 * Creates the file and its folder if they are missing, readable by their owner alone; existing ones keep their mode.
 * SQLite gives the journal and the shared memory beside a file the mode of the file.
 */
export function makePrivateFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER })
  try {
    closeSync(openSync(file, 'ax', PRIVATE_FILE))
  } catch {
    // It exists, or cannot be created: then the driver reports why.
  }
}
