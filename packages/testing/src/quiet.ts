import { format } from 'node:util'
import { afterEach } from 'vitest'

/** A vitest setup file: a test that writes to the console fails, with what it wrote. */
const said: string[] = []

for (const method of ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const) {
  globalThis.console[method] = (...args: unknown[]) => {
    said.push(`${method}: ${format(...args)}`)
  }
}

afterEach(() => {
  const heard = said.splice(0)
  if (heard.length > 0) throw new Error(`The test wrote to the console:\n${heard.join('\n')}`)
})
