import { type FSWatcher, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { systemRuntime, type Timer } from '@oncue/runtime'

/** Editors write a file in several steps. */
const SETTLE_MS = 100

/** Watches files by their folders: many editors replace a file, and a watcher of the file would stay with the old one. */
export class WatchedFiles {
  readonly #stamps = new Map<string, string>()
  readonly #folders = new Map<string, FSWatcher>()
  readonly #onChange: (files: readonly string[]) => void
  readonly #onError: (error: Error) => void
  #timer: Timer | undefined

  constructor(onChange: (files: readonly string[]) => void, onError: (error: Error) => void) {
    this.#onChange = onChange
    this.#onError = onError
  }

  add(file: string): void {
    this.#stamps.set(file, stampOf(file) ?? '')
    const folder = dirname(file)
    if (this.#folders.has(folder)) return
    try {
      const watcher = watch(folder, () => this.#lookSoon())
      watcher.on('error', this.#onError)
      this.#folders.set(folder, watcher)
    } catch (error) {
      this.#onError(error as Error)
    }
  }

  close(): void {
    systemRuntime.cancel(this.#timer)
    for (const watcher of this.#folders.values()) watcher.close()
  }

  #lookSoon(): void {
    systemRuntime.cancel(this.#timer)
    this.#timer = systemRuntime.after(SETTLE_MS, () => this.#look())
  }

  #look(): void {
    const changed = [...this.#stamps].flatMap(([file, before]) => {
      const stamp = stampOf(file)
      // A file that is missing is about to be replaced, or was renamed with those that import it.
      if (stamp === undefined || stamp === before) return []
      this.#stamps.set(file, stamp)
      return [file]
    })
    if (changed.length > 0) this.#onChange(changed)
  }
}

function stampOf(file: string): string | undefined {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.mtimeNs} ${stats.size} ${stats.ino}`
}
