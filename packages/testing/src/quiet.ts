import { format } from 'node:util'
import { afterEach } from 'vitest'

/** A vitest setup file: whatever a test lets out to the console fails it, with what was said. */
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
