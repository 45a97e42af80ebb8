/** Loads the modules of its arguments from the folder in the first, and prints the result. */
import { toRegistry } from '@oncue/core/internal'
import { loadModules } from '../src/run/modules.ts'

const [folder = '', ...specifiers] = process.argv.slice(2)
try {
  const { workers } = await loadModules(specifiers, folder)
  process.stdout.write(JSON.stringify({ topics: toRegistry(...workers).topics() }))
} catch (error) {
  process.stdout.write(JSON.stringify({ error }))
}
