import { closeSync, mkdirSync, openSync } from 'node:fs'
// Not `createRequire` by name: what people put before a bundle in ESM declares it.
import Module from 'node:module'
import { dirname } from 'node:path'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
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
  const known = getEnvironmentData(DRIVER_FILE)
  if (typeof known === 'string') return Module.createRequire(known)(known)
  const driver = await importDriver()
  const file = fileOf(driver)
  if (file) setEnvironmentData(DRIVER_FILE, file)
  return driver
}

/** Opens a database in memory: the native part, which a bundle does not contain, is loaded with the first one. */
async function importDriver(): Promise<Driver> {
  try {
    const { default: driver } = await import('better-sqlite3')
    new driver(':memory:').close()
    return driver
  } catch (cause) {
    throw new OncueError('SQLITE_DRIVER_MISSING', `better-sqlite3 cannot be loaded: ${String(cause)}`, {
      cause,
    })
  }
}

/**
 * Where this process found its driver, for its threads: two copies of SQLite in one process release each other's locks,
 * and the lease thread of a bundle has no file whose packages it could search.
 */
const DRIVER_FILE = 'oncue.better-sqlite3'

function fileOf(driver: Driver): string | undefined {
  const modules = Object.entries(Module.createRequire(process.execPath).cache)
  return modules.find(([, module]) => module?.exports === driver)?.[0]
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
