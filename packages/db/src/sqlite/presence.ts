import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Driver, makePrivateFile } from './driver.ts'

/**
 * How workers on one machine notice a crash of another: each holds an exclusive lock on a small file of
 * its own. The operating system releases it when the process ends, however it ends. Process ids
 * would not do: they are reused, and containers that share a file do not share them.
 *
 * The lock is SQLite's own, on an empty database file: Node has no flock, and SQLite's works
 * wherever the queue's file does.
 */
export class PresenceFiles {
  readonly #driver: Driver
  readonly #folder: string

  constructor(driver: Driver, databaseFile: string) {
    this.#driver = driver
    this.#folder = `${databaseFile}-workers`
  }

  hold(name: string): { release(): void } {
    const file = join(this.#folder, name)
    makePrivateFile(file)
    const lock = new this.#driver(file, { timeout: 0 })
    lock.exec('BEGIN EXCLUSIVE')
    return {
      release: () => {
        lock.close()
        rmSync(file, { force: true })
      },
    }
  }

  /** Whether the file is unlocked. Removes it then. */
  isDead(name: string): boolean {
    const file = join(this.#folder, name)
    // The folder is gone, and so are the processes that held files in it.
    if (!existsSync(file)) return true
    const lock = new this.#driver(file, { timeout: 0 })
    try {
      lock.exec('BEGIN EXCLUSIVE')
      rmSync(file, { force: true })
      return true
    } catch {
      return false
    } finally {
      lock.close()
    }
  }
}
