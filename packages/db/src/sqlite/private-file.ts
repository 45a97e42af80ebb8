import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** For the user who runs Oncue alone: payloads, tokens' hashes and audit entries lie in these files. */
const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600

/**
 * Makes the file and its folder if they are missing, readable by nobody else; what is there keeps its mode. SQLite
 * gives the journal and the shared memory beside a file the mode of the file.
 */
export function makePrivateFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER })
  try {
    closeSync(openSync(file, 'ax', PRIVATE_FILE))
  } catch {
    // It is there, or cannot be made: then the driver says why.
  }
}
