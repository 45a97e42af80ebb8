#!/usr/bin/env node
import { EXIT, exitCodeOf } from './command.ts'
import { createProgram } from './program.ts'

// Whoever reads us may have read enough: `oncue-worker list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done)
  throw error
})

try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  // A module that was loaded before another failed may have left something open.
  setTimeout(() => process.exit(), 1_000).unref()
}
