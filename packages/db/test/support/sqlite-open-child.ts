import { openStore } from '../../src/open.ts'
import { aJob } from '../conformance/harness.ts'

/** Opens, uses and closes a file a hundred times, and reports errors. */
const url = process.argv[2] ?? ''
const errors: string[] = []
let opened = 0
for (let n = 0; n < 100; n++) {
  try {
    const store = await openStore(url)
    await store.enqueue([aJob()])
    await store.close()
    opened += 1
  } catch (error) {
    errors.push(String(error))
  }
}
process.send?.({ opened, errors })
process.disconnect()
