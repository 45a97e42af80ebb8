import { closeSync, mkdirSync, openSync } from 'node:fs'
// Not `createRequire` by name: what people put before a bundle in ESM declares it.
import Module from 'node:module'
import { dirname } from 'node:path'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { OncueError } from '@oncue/core'
import { readConfig, type SqliteLibrary } from '../config.ts'
import { DEFAULT_SCHEMA, renameTo } from '../schema.ts'
import { nodeDriver } from './node-sqlite.ts'

/** What the store uses of a library for SQLite: this much of better-sqlite3, which `node-sqlite.ts` makes of node:sqlite. */
export interface Database {
  readonly inTransaction: boolean
  prepare(source: string): Statement
  /** One or more statements, whose rows are not wanted. */
  exec(source: string): unknown
  /** A second call does nothing. */
  close(): unknown
}

export interface Statement {
  /** Whether it returns rows. */
  readonly reader: boolean
  /** Whether it changes nothing. */
  readonly readonly: boolean
  columns(): { readonly name: string }[]
  /** From now on rows are arrays, column by column. */
  raw(): Statement
  run(...values: unknown[]): { readonly changes: number }
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}

export type DriverOptions = {
  readonly readonly?: boolean
  readonly fileMustExist?: boolean
  /** How long SQLite itself waits for a file that is locked, in milliseconds; it blocks the event loop. */
  readonly timeout?: number
}

export type Driver = new (file: string, options?: DriverOptions) => Database

/** The Node-API version that the prebuilt better-sqlite3 is linked against. */
const REQUIRED_NODE_API = 10

/**
 * Loads better-sqlite3, or node:sqlite where that is not installed, when the first file is opened: Postgres users never
 * load either. On a Node that is too old the import would end the process with a segmentation fault and no message.
 *
 * A process uses one of them, in all of its threads: two copies of SQLite in one process release each other's locks.
 */
export async function loadDriver(nodeApi = process.versions.napi): Promise<Driver> {
  if (Number(nodeApi) < REQUIRED_NODE_API) {
    const message = `SQLite needs Node.js 22.14 or newer; this is ${process.version}`
    throw new OncueError('UNSUPPORTED_NODE', message, { hint: 'Upgrade Node.js.' })
  }
  const known = getEnvironmentData(DRIVER)
  if (known === NODE_SQLITE) return ownDriver()
  if (typeof known === 'string') return Module.createRequire(known)(known)
  const wanted = readConfig().sqliteLibrary
  if (wanted === NODE_SQLITE) return remembered(ownDriver(), NODE_SQLITE)
  try {
    const { default: driver } = await import('better-sqlite3')
    // The native part, which a bundle does not contain, is loaded with the first database.
    new driver(':memory:').close()
    return remembered(driver, fileOf(driver))
  } catch (cause) {
    const driver = wanted === undefined ? nodeDriver() : null
    if (driver) return remembered(driver, NODE_SQLITE)
    throw new OncueError('SQLITE_DRIVER_MISSING', `better-sqlite3 cannot be loaded: ${String(cause)}`, {
      cause,
    })
  }
}

const NODE_SQLITE: SqliteLibrary = 'node:sqlite'

/**
 * What this process uses, for its threads: node:sqlite, or the file of better-sqlite3. The lease thread of a bundle has
 * no file whose packages it could search.
 */
const DRIVER = 'oncue.sqlite'

function remembered(driver: Driver, as: string | undefined): Driver {
  if (as) setEnvironmentData(DRIVER, as)
  return driver
}

function ownDriver(): Driver {
  const driver = nodeDriver()
  if (driver) return driver
  throw new OncueError('SQLITE_DRIVER_MISSING', `${process.version} has no node:sqlite that Oncue can use`, {
    hint: 'Upgrade Node.js to 22.16 or newer, or install better-sqlite3 and unset ONCUE_SQLITE.',
  })
}

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
      return super.prepare(rename(source))
    }

    override exec(source: string) {
      return super.exec(rename(source))
    }
  }
  return SchemaDatabase
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
